"""Which rows of the train split stand as solved examples before each row of the test split."""
