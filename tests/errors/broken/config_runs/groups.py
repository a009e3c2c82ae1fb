datasets = [dict(abbr="quiz", path="quiz.csv")]
summarizer = dict(
    summary_groups=[
        dict(name="all", subsets=["quiz"], weights=dict(quizz=1)),
        dict(name="other", subsets=["quiz"], transforms=dict(quiz="__import__('os')")),
    ]
)
