"""What the advantage pipeline costs beside verl's plain estimator."""
