//! Runs the `nc3z` binary like a shell. Tests never depend on compressed sizes, which change with library
//! versions.

#[cfg(test)]
mod archive;
#[cfg(test)]
mod hash;
#[cfg(test)]
mod help;
#[cfg(test)]
mod info;
#[cfg(test)]
mod layout;
#[cfg(test)]
mod parity;
#[cfg(test)]
mod read;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod run;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tree;
#[cfg(test)]
mod verify;
