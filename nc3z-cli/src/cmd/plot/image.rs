//! PNG bytes.

use anyhow::{Context, Result};

/// Encodes pixels, of three or four bytes each.
pub(super) fn png(width: u32, height: u32, pixels: &[u8], with_alpha: bool) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(if with_alpha { png::ColorType::Rgba } else { png::ColorType::Rgb });
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().context("encode the picture")?;
    writer.write_image_data(pixels).context("encode the picture")?;
    writer.finish().context("encode the picture")?;
    Ok(bytes)
}
