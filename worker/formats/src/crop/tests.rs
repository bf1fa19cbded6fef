use proptest::prelude::*;

use super::*;

/// Pixel by pixel, straight from the definition.
fn naive(plane: &[u16], height: usize, width: usize, window: Window, pad: Pad) -> Vec<u16> {
    let mirror = |at: i64, len: usize| -> usize {
        let mut at = at;
        let last = len as i64 - 1;
        // Walks to and fro between the edges, as a ball would.
        while at < 0 || at > last {
            if last == 0 {
                return 0;
            }
            at = if at < 0 { -at } else { 2 * last - at };
        }
        at as usize
    };
    let mut out = Vec::new();
    for y in window.y..window.y + window.height as i64 {
        for x in window.x..window.x + window.width as i64 {
            let inside = y >= 0 && x >= 0 && y < height as i64 && x < width as i64;
            out.push(match pad {
                Pad::Zero if !inside => 0,
                _ => plane[mirror(y, height) * width + mirror(x, width)],
            });
        }
    }
    out
}

fn cut(plane: &[u16], height: usize, width: usize, window: Window, pad: Pad) -> Vec<u16> {
    let mut out = vec![0xffff; window.height * window.width];
    cut_plane(plane, height, width, window, pad, &mut out);
    out
}

#[test]
fn a_window_begins_at_the_rounded_centre_less_half_its_size() {
    let around = |y, x, height, width| Window::around(nearest(y, 64), nearest(x, 64), height, width);
    assert_eq!(around(10.0, 20.0, 4, 5), Window { y: 8, x: 18, height: 4, width: 5 });
    assert_eq!(around(10.5, 20.49, 4, 5), Window { y: 9, x: 18, height: 4, width: 5 });
    assert_eq!(around(0.2, -0.4, 1, 1), Window { y: 0, x: 0, height: 1, width: 1 });
    // Within half a pixel of an edge: the pixel at the edge, not the one past it.
    assert_eq!(around(63.5, 63.999, 1, 1), Window { y: 63, x: 63, height: 1, width: 1 });
    assert_eq!(around(64.0, -0.5, 1, 1), Window { y: 63, x: 0, height: 1, width: 1 });
    // Further out is further out, and an error where the crop misses its site.
    assert_eq!(around(65.0, -2.0, 1, 1), Window { y: 65, x: -2, height: 1, width: 1 });
}

#[test]
fn reflection_is_that_of_numpy() {
    // numpy 2.4.6: np.pad(np.arange(n), (before, after), mode="reflect")
    let cases: [(usize, i64, &[usize]); 4] = [
        (5, 7, &[1, 2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1, 0, 1, 2, 3, 4, 3]),
        (2, 3, &[1, 0, 1, 0, 1, 0, 1, 0, 1]),
        (3, 5, &[1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]),
        (1, 2, &[0, 0, 0, 0, 0]),
    ];
    for (len, before, expected) in cases {
        let got: Vec<usize> =
            (0..expected.len() as i64).filter_map(|i| source_index(i - before, len, Pad::Reflect)).collect();
        assert_eq!(got, expected, "n = {len}");
    }
    // np.pad(np.arange(12).reshape(3, 4), ((2, 3), (1, 4)), mode="reflect")
    let plane: Vec<u16> = (0..12).collect();
    let window = Window { y: -2, x: -1, height: 8, width: 9 };
    let a = [9, 8, 9, 10, 11, 10, 9, 8, 9];
    let b = [5, 4, 5, 6, 7, 6, 5, 4, 5];
    let c = [1, 0, 1, 2, 3, 2, 1, 0, 1];
    assert_eq!(cut(&plane, 3, 4, window, Pad::Reflect), [a, b, c, b, a, b, c, b].concat());
}

#[test]
fn a_crop_inside_needs_itself_alone() {
    let mut cutter = Cutter::default();
    let rect = cutter.aim(Window { y: 2, x: 3, height: 4, width: 5 }, 10, 12, Pad::Reflect);
    assert!(cutter.is_inside());
    assert_eq!(rect, Rect { y0: 2, y1: 6, x0: 3, x1: 8 });
    assert!(cutter.rows.is_empty() && cutter.columns.is_empty());
}

#[test]
fn zero_padding_needs_only_what_lies_on_the_site() {
    let mut cutter = Cutter::default();
    let rect = cutter.aim(Window { y: -2, x: 9, height: 4, width: 5 }, 10, 12, Pad::Zero);
    assert_eq!(rect, Rect { y0: 0, y1: 2, x0: 9, x1: 12 });
    let rect = cutter.aim(Window { y: 10, x: 0, height: 4, width: 5 }, 10, 12, Pad::Zero);
    assert_eq!(rect.area(), 0);
}

proptest! {
    #[test]
    fn cutting_is_what_the_definition_says(
        (height, width) in (1_usize..12, 1_usize..12),
        (y, x) in (-30_i64..30, -30_i64..30),
        (high, wide) in (1_usize..20, 1_usize..20),
        reflect: bool,
    ) {
        let plane: Vec<u16> = (1..=(height * width) as u16).collect();
        let window = Window { y, x, height: high, width: wide };
        let pad = if reflect { Pad::Reflect } else { Pad::Zero };
        let expected = naive(&plane, height, width, window, pad);
        prop_assert_eq!(&cut(&plane, height, width, window, pad), &expected);

        // The same from the source rectangle alone, as a reader has it.
        let mut cutter = Cutter::default();
        let rect = cutter.aim(window, height, width, pad);
        let mut source = Vec::new();
        for row in rect.y0..rect.y1 {
            source.extend_from_slice(&plane[row * width + rect.x0..row * width + rect.x1]);
        }
        let mut out = vec![0xffff_u16; high * wide];
        cutter.cut_bytes(bytemuck::cast_slice(&source), rect.width(), 2, bytemuck::cast_slice_mut(&mut out));
        prop_assert_eq!(&out, &expected);

        // Blanking turns one padding into the other.
        let mut blanked = cut(&plane, height, width, window, Pad::Reflect);
        blank_outside(window, height, width, 2, bytemuck::cast_slice_mut(&mut blanked));
        prop_assert_eq!(blanked, naive(&plane, height, width, window, Pad::Zero));

        // Only zero padding wholly outside needs no source at all.
        prop_assert_eq!(rect.area() == 0, pad == Pad::Zero && !window.overlaps(height, width));
    }
}
