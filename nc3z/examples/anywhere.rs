//! Reads times and decoded values of a variable: `anywhere NAME VARIABLE`, where the name is a path, a URL, a member of a bundle or an
//! aggregation.

fn main() -> nc3z::Result<()> {
    let mut words = std::env::args().skip(1);
    let (name, variable) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let file = nc3z::open(name)?;
    let time = file.variable("time")?;
    let values = file.variable(&variable)?;
    let times = time.read_times(..)?;
    let values = values.read_decoded(..)?;
    println!("{:?} {:?} {values:?}", times.first(), times.last());
    Ok(())
}
