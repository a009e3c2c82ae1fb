subsets = ['europe', 'asia']
