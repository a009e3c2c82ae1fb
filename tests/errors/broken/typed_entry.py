datasets = [{"type": "X", "path": "fine.csv"}]
