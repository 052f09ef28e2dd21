"""What tests share: robots, peers, data sets, and how programs and pages are run."""
