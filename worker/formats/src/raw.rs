//! Rows of uncompressed pixels out of a file, with as few calls and bytes as pay off.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// With gaps up to this many bytes between wanted rows, one read across the gaps is cheaper than a read for each row:
/// a system call costs about as much as copying a page, and the device hands out whole pages anyway.
const WORTHWHILE_GAP: usize = 4096;

/// Equal rows in a file, equally far apart. All sizes in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// Offset of the first row.
    pub offset: u64,
    /// Number of rows.
    pub count: usize,
    /// Length of one row.
    pub len: usize,
    /// Distance from one row to the next.
    pub stride: usize,
}

/// Reads `rows` into `out`, whose rows are `out_stride` bytes apart. Returns the bytes read from the file.
///
/// `scratch` grows once and is reused.
pub fn read_rows(file: &File, rows: Rows, out: &mut [u8], out_stride: usize, scratch: &mut Vec<u8>) -> io::Result<u64> {
    if rows.count == 0 || rows.len == 0 {
        return Ok(0);
    }
    let span = (rows.count - 1) * rows.stride + rows.len;
    if rows.count == 1 || (rows.len == rows.stride && out_stride == rows.len) {
        file.read_exact_at(&mut out[..span], rows.offset)?;
        return Ok(span as u64);
    }
    if rows.stride - rows.len > WORTHWHILE_GAP {
        for (row, line) in out.chunks_mut(out_stride).take(rows.count).enumerate() {
            file.read_exact_at(&mut line[..rows.len], rows.offset + (row * rows.stride) as u64)?;
        }
        return Ok((rows.count * rows.len) as u64);
    }
    let scratch = grown(scratch, span);
    file.read_exact_at(scratch, rows.offset)?;
    for (source, line) in scratch.chunks(rows.stride).zip(out.chunks_mut(out_stride)) {
        line[..rows.len].copy_from_slice(&source[..rows.len]);
    }
    Ok(span as u64)
}

/// Copies `rows` of a mapped file into `out`, whose rows are `out_stride` bytes apart. Returns the bytes copied. Panics when
/// they reach past the end of `bytes`.
pub fn copy_rows(bytes: &[u8], rows: Rows, out: &mut [u8], out_stride: usize) -> u64 {
    for (row, line) in out.chunks_mut(out_stride).take(rows.count).enumerate() {
        let start = rows.offset as usize + row * rows.stride;
        line[..rows.len].copy_from_slice(&bytes[start..start + rows.len]);
    }
    (rows.count * rows.len) as u64
}

/// The first `len` bytes of `buffer`, which grows when it is shorter.
pub fn grown(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn rows_come_out_the_same_whether_the_gaps_are_read_or_not() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let bytes: Vec<u8> = (0..60_000_u32).map(|i| (i * 7 + i / 256) as u8).collect();
        file.write_all(&bytes).expect("written");
        let mut scratch = Vec::new();
        // (stride, length, bytes that should be read for 7 rows)
        for (stride, len, expected) in [(100, 100, 700), (100, 30, 630), (4126, 30, 24_786), (4127, 30, 210)] {
            for out_stride in [len, len + 5] {
                let mut out = vec![0xee; 7 * out_stride];
                let rows = Rows { offset: 13, count: 7, len, stride };
                let read = read_rows(&file, rows, &mut out, out_stride, &mut scratch).expect("read");
                assert_eq!(read, expected, "{stride} {len}");
                for row in 0..7 {
                    let (from, to) = (13 + row * stride, row * out_stride);
                    assert_eq!(out[to..to + len], bytes[from..from + len], "row {row} of {stride}");
                    assert!(out[to + len..to + out_stride].iter().all(|&byte| byte == 0xee), "between rows");
                }
            }
        }
        let past = Rows { offset: 59_999, count: 2, len: 1, stride: 1 };
        assert!(read_rows(&file, past, &mut [0; 2], 1, &mut scratch).is_err());
    }
}
