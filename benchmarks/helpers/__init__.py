"""What commands share: data sets, peers, judges, records of results."""
