"""Topics as lettered options in the manner of C-Eval, after five examples drawn for each headline."""

from ais_bench.benchmark.datasets import YnatDataset, YnatEvaluator, ynat_postprocess
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import RandomRetriever

letters = "ABCDEFG"

ynat_reader_cfg = dict(input_columns=["title", *letters], output_column="letter")

options = "\n".join(f"{letter}. {{{letter}}}" for letter in letters)
turns = [
    dict(
        role="HUMAN",
        prompt="다음은 뉴스 기사의 분야를 묻는 객관식 문제입니다. 알맞은 보기의 기호를 쓰세요.\n\n"
        f"제목: {{title}}\n{options}\n정답:",
    ),
    dict(role="BOT", prompt="{letter}\n"),
]

ynat_infer_cfg = dict(
    ice_template=dict(type=PromptTemplate, template=dict(round=turns)),
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(begin="</E>", round=turns),
        ice_token="</E>",
    ),
    retriever=dict(type=RandomRetriever, ice_num=5),
    inferencer=dict(type=GenInferencer, max_out_len=32),
)

ynat_datasets = [
    dict(
        abbr="ynat_gen",
        type=YnatDataset,
        path="ais_bench/datasets/klue/ynat/validation.json",
        reader_cfg=ynat_reader_cfg,
        infer_cfg=ynat_infer_cfg,
        eval_cfg=dict(
            evaluator=dict(type=YnatEvaluator),
            pred_postprocessor=dict(type=ynat_postprocess),
        ),
    )
]
