//! Arguments for access to the object of a URL.

use clap::Args;

/// Arguments of all commands that read URLs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RemoteArgs {
    /// For a file that is a URL (https, s3, gs, az): a setting of the store, such as region=eu-west-1,
    /// endpoint=http://localhost:9000, allow_http=true or skip_signature=true. May be given several times.
    /// HTTP servers take bearer_token=WORD and header.NAME=VALUE; the environment variable NC3Z_HTTP_HEADERS has
    /// headers as lines `NAME: VALUE`, which other users of the machine cannot see. The store's own environment
    /// variables are used, too.
    #[arg(long = "storage-option", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) settings: Vec<(String, String)>,
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is NAME=VALUE")?;
    if name.is_empty() {
        return Err("the setting has no name".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}
