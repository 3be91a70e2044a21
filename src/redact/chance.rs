//! How much a string looks like chance: letter pairs of code and English, and Shannon entropy.

/// Shannon entropy in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f32 {
    if value.is_empty() {
        return 0.0;
    }
    let mut counts = [0_u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// The mean surprise, in bits, of each character after the one before it. Words and identifiers stay
/// near 3.7; random letters and digits are near 6.
pub(super) fn surprise(value: &[u8]) -> f32 {
    if value.len() < 2 {
        return 0.0;
    }
    let total: u32 = value.windows(2).map(|pair| u32::from(cost(pair[0], pair[1]))).sum();
    total as f32 / 16.0 / (value.len() - 1) as f32
}

/// Whether the characters look drawn by chance rather than written.
pub(super) fn is_random(value: &[u8]) -> bool {
    let bound = match value.len() {
        0..8 => return false,
        8..12 => 5.4,
        12..16 => 5.1,
        16..24 => 4.85,
        _ => 4.7,
    };
    surprise(value) >= bound
}

/// Whether upper and lower case, letters and digits change places as nobody writes them: `hPxLu`, `m3LD6`.
pub(super) fn is_ragged(word: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let changes = |pair: &&[u8]| class(pair[0]) != class(pair[1]) && class(pair[0]) != 0 && class(pair[1]) != 0;
    // A capital at the start of a word is how words are written.
    let capitals = |pair: &&[u8]| pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase();
    let all = word.windows(2).filter(changes).count();
    let usual = word.windows(2).filter(capitals).count().min(1);
    word.len() >= 5 && (all - usual) * 5 >= word.len() * 2
}

/// Sixteenths of a bit.
fn cost(left: u8, right: u8) -> u8 {
    const TO_OR_FROM_DIGIT: u8 = 100;
    const DIGIT_TO_DIGIT: u8 = 62;
    const SEPARATOR: u8 = 40;
    const UPPER_AFTER_LOWER: u8 = 72;
    match (left, right) {
        (b'0'..=b'9', b'0'..=b'9') => DIGIT_TO_DIGIT,
        (b'0'..=b'9', b'a'..=b'z' | b'A'..=b'Z') | (b'a'..=b'z' | b'A'..=b'Z', b'0'..=b'9') => TO_OR_FROM_DIGIT,
        (b'a'..=b'z', b'A'..=b'Z') => UPPER_AFTER_LOWER,
        (b'a'..=b'z' | b'A'..=b'Z', b'a'..=b'z' | b'A'..=b'Z') => {
            PAIRS[usize::from(left.to_ascii_lowercase() - b'a')][usize::from(right.to_ascii_lowercase() - b'a')]
        }
        _ => SEPARATOR,
    }
}

/// `-16 * log2 P(right | left)` for letters, counted over the words of a large body of source code.
#[rustfmt::skip]
static PAIRS: [[u8; 26]; 26] = [
    [114, 72, 60, 67, 111, 108, 80, 130, 77, 161, 97, 50, 71, 50, 154, 72, 165, 50, 63, 43, 95, 100, 116, 109, 95, 145],
    [51, 91, 78, 88, 53, 94, 119, 128, 49, 100, 123, 41, 91, 109, 60, 92, 146, 69, 60, 94, 58, 126, 156, 146, 88, 135],
    [49, 112, 83, 101, 54, 105, 96, 54, 75, 130, 62, 70, 93, 111, 40, 96, 135, 73, 76, 54, 84, 104, 124, 144, 111, 196],
    [60, 93, 94, 70, 29, 88, 106, 109, 39, 129, 151, 79, 101, 104, 66, 98, 130, 68, 65, 94, 76, 105, 124, 128, 108, 162],
    [70, 109, 65, 51, 86, 82, 94, 124, 108, 161, 125, 72, 77, 51, 105, 85, 109, 42, 50, 57, 115, 91, 106, 72, 118, 160],
    [60, 95, 82, 74, 60, 51, 112, 125, 37, 189, 129, 59, 101, 100, 52, 96, 150, 67, 65, 74, 75, 153, 116, 143, 98, 186],
    [66, 108, 95, 110, 30, 108, 90, 68, 56, 227, 128, 77, 88, 66, 71, 93, 132, 50, 59, 95, 72, 115, 128, 128, 114, 125],
    [34, 124, 113, 88, 36, 127, 135, 130, 47, 146, 116, 91, 86, 105, 46, 113, 155, 71, 89, 75, 76, 137, 101, 159, 95, 136],
    [79, 89, 63, 69, 79, 77, 74, 171, 143, 159, 127, 69, 72, 33, 53, 83, 156, 81, 62, 57, 150, 86, 170, 103, 164, 86],
    [45, 101, 114, 126, 42, 95, 99, 98, 57, 175, 51, 107, 117, 106, 41, 83, 175, 106, 61, 94, 54, 128, 132, 175, 131, 175],
    [59, 92, 86, 76, 27, 96, 104, 81, 47, 211, 126, 79, 104, 86, 83, 92, 135, 90, 52, 76, 85, 117, 93, 124, 109, 149],
    [49, 115, 103, 77, 37, 102, 122, 141, 41, 171, 102, 53, 108, 110, 51, 101, 173, 111, 74, 75, 84, 109, 138, 171, 65, 152],
    [37, 75, 106, 98, 35, 116, 121, 148, 52, 180, 110, 97, 81, 108, 60, 50, 150, 107, 67, 91, 72, 134, 142, 172, 109, 177],
    [60, 117, 63, 54, 53, 80, 45, 119, 67, 144, 96, 98, 116, 92, 65, 106, 143, 113, 55, 45, 89, 97, 131, 151, 112, 150],
    [99, 96, 59, 71, 114, 91, 90, 128, 95, 140, 98, 66, 64, 37, 81, 65, 190, 48, 68, 70, 65, 86, 77, 121, 143, 171],
    [47, 116, 95, 108, 45, 112, 108, 77, 64, 184, 112, 60, 106, 116, 53, 63, 141, 44, 76, 62, 78, 120, 119, 141, 103, 243],
    [84, 91, 80, 72, 85, 119, 104, 146, 96, 184, 143, 78, 92, 83, 106, 94, 112, 78, 70, 90, 13, 122, 107, 137, 184, 184],
    [49, 114, 83, 83, 32, 106, 93, 141, 51, 180, 98, 88, 79, 87, 54, 94, 140, 80, 61, 66, 87, 104, 124, 144, 88, 169],
    [76, 119, 72, 115, 41, 110, 97, 67, 48, 174, 97, 94, 96, 105, 74, 71, 127, 101, 62, 39, 63, 120, 107, 137, 83, 128],
    [53, 116, 82, 104, 38, 99, 126, 66, 39, 202, 136, 88, 96, 109, 64, 92, 154, 54, 64, 78, 83, 125, 121, 110, 80, 142],
    [78, 67, 75, 94, 72, 89, 91, 161, 72, 164, 138, 59, 63, 39, 104, 62, 175, 56, 53, 50, 136, 145, 159, 122, 158, 161],
    [41, 108, 97, 102, 20, 93, 123, 123, 46, 217, 157, 88, 82, 101, 70, 100, 130, 99, 81, 90, 127, 159, 128, 122, 146, 172],
    [37, 115, 92, 79, 51, 111, 114, 65, 46, 137, 127, 85, 96, 57, 61, 97, 120, 58, 65, 94, 110, 141, 113, 108, 172, 210],
    [67, 99, 61, 83, 54, 76, 115, 99, 59, 207, 135, 85, 89, 105, 87, 47, 115, 97, 70, 32, 106, 118, 123, 81, 93, 143],
    [64, 92, 76, 97, 65, 99, 114, 124, 63, 166, 204, 70, 56, 53, 77, 37, 204, 81, 53, 67, 107, 109, 96, 204, 104, 100],
    [50, 188, 108, 133, 14, 112, 115, 91, 52, 188, 131, 102, 102, 111, 65, 141, 135, 130, 98, 144, 141, 114, 111, 129, 101, 79],
];
