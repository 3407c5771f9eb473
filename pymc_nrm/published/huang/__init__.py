"""Algorithm 2 of Huang, Laitonjam, Piao & Hurley (2020) as published, which is biased, and an exact version of it."""
