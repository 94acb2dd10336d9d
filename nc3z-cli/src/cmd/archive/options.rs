//! The options of archives from the arguments.

use crate::args::{ArchiveArgs, DigestArg, EdgeArg, EncodeArgs, PresetArg, ProfileArg};
use crate::output::text;
use nc3z_format::codec::ChainRequest;
use nc3z_format::tile::Edge;
use nc3z_writer::{PerVariable, Preset, TileChoice, WriterOptions};

/// Returns the options of `nc3z archive`.
pub(super) fn options(args: &ArchiveArgs) -> WriterOptions {
    let mut quantize = PerVariable::default();
    args.quantize.iter().for_each(|(name, mode)| quantize.push(name, *mode));
    let options = encode_options(&args.encode);
    let options = options.with_quantize(quantize).with_verify(!args.no_verify).with_force(args.out.force);
    let options = options.with_md5(args.digest == Some(DigestArg::Md5));
    let options = options.with_content_digests(args.digest != Some(DigestArg::None));
    match args.parity {
        Some(share) => options.with_parity(share),
        None => options,
    }
}

/// Returns the options that all commands for writing archives share.
pub(in crate::cmd) fn encode_options(args: &EncodeArgs) -> WriterOptions {
    let preset = match args.preset {
        PresetArg::Fast => Preset::Fast,
        PresetArg::Default => Preset::Default,
        PresetArg::Max => Preset::Max,
    };
    let registry = crate::registry::registry();
    let mut chains = PerVariable::default();
    let mut options = WriterOptions::default().with_preset(preset).with_memory(args.memory);
    let zarr = args.profile == Some(ProfileArg::Zarr);
    if zarr {
        options = options.with_layout(TileChoice::Chunked);
        let chain = ChainRequest::parse(nc3z_zarr::PROFILE_CHAIN).expect("a test parses it");
        chains.push("*", chain);
    }
    for rule in &args.chains {
        chains.push(&rule.variable, rule.chain(&registry));
        if rule.needs_plugin() {
            let name = text::safe(&rule.variable);
            note!(
                "nc3z: warning: chain of `{name}`: a plug-in's filter; reading or restoring the archive needs the plug-in, too"
            );
        }
    }
    options = options.with_chains(chains).with_registry(registry);
    if let Some(len) = args.tile_size {
        options = options.with_tile_len(len);
    }
    for layout in &args.layout {
        options = match &layout.variable {
            Some(variable) => options.with_variable_layout(variable, layout.choice),
            None => options.with_layout(layout.choice),
        };
    }
    options = args.tile.iter().cloned().fold(options, WriterOptions::with_chunks);
    options.with_edge(match args.edge {
        EdgeArg::Clip if zarr => Edge::Padded,
        EdgeArg::Clip => Edge::Clipped,
        EdgeArg::Pad => Edge::Padded,
    })
}
