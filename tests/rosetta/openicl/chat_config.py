from mmengine.config import read_base

with read_base():
    from .text_config import questions_datasets

turns = [
    dict(role="HUMAN", prompt="Question: {question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}\nAnswer:"),
    dict(role="BOT", prompt="{answer}"),
]
for one in questions_datasets[1:]:
    one["infer_cfg"]["ice_template"]["template"] = dict(round=turns)
    one["infer_cfg"]["prompt_template"]["template"] = dict(begin="</E>", round=turns)
