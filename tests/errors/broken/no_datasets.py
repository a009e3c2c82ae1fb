models = []
