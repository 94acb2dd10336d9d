//! Parity: what the share promises is mended to the same bytes; what it cannot mend is said, and nothing is changed.

#[cfg(test)]
mod carried;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod in_place;
#[cfg(test)]
mod made;
#[cfg(test)]
mod verdict;
