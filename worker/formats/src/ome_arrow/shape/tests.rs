//! Which pieces make an image.

use proptest::prelude::*;

use super::*;

fn shape(channels: usize, height: usize, width: usize, tile: usize) -> Shape {
    let mut pieces = Vec::new();
    for channel in 0..channels {
        for y in (0..height).step_by(tile) {
            for x in (0..width).step_by(tile) {
                let (high, wide) = (tile.min(height - y), tile.min(width - x));
                let codec = Codec::None;
                pieces.push(Piece { channel, channels: 1, y, x, height: high, width: wide, codec, group: 0, row: 0 });
            }
        }
    }
    Shape { channels, height, width, element: Element::U16, storage: Storage::ChunkBytes, pieces }
}

proptest! {
    #[test]
    fn tiles_cover_and_one_that_is_lost_moved_or_twice_there_does_not(
        (channels, height, width, tile) in (1..4_usize, 1..30_usize, 1..30_usize, 1..12_usize),
        pick in any::<prop::sample::Index>(),
        by in 1..40_usize,
    ) {
        let sound = shape(channels, height, width, tile);
        prop_assert!(sound.check().is_ok());
        let mut shuffled = sound.clone();
        shuffled.pieces.reverse();
        prop_assert!(shuffled.check().is_ok());
        let at = pick.index(sound.pieces.len());
        type Change<'a> = &'a dyn Fn(&mut Vec<Piece>);
        let changes: [Change<'_>; 6] = [
            &|pieces| { pieces.remove(at); },
            &|pieces| pieces.push(pieces[at].clone()),
            &|pieces| pieces[at].y += by,
            &|pieces| pieces[at].x += by,
            &|pieces| pieces[at].height += by,
            &|pieces| pieces[at].channel += by,
        ];
        for change in changes {
            let mut other = sound.clone();
            change(&mut other.pieces);
            prop_assert!(other.check().is_err());
        }
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let sizes = |t, c, z, y, x| Sizes { t, c, z, y, x }.planes();
    assert_eq!(sizes(1, 3, 1, 20, 30), Ok((3, 20, 30)));
    assert!(matches!(sizes(1, 3, 5, 20, 30), Err(Problem::Unsupported(_))));
    for bad in [(1, 0, 1, 1, 1), (1, 1, 1, -4, 4), (1, 9, 1, i64::MAX, i64::MAX), (1, 1 << 20, 1, 1 << 20, 1 << 20)] {
        assert!(matches!(sizes(bad.0, bad.1, bad.2, bad.3, bad.4), Err(Problem::Corrupt(_))), "{bad:?}");
    }
}
