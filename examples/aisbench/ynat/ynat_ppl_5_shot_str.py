"""The likeliest topic, after the five headlines that share the most words with the one that is asked."""

from ais_bench.benchmark.datasets import YnatDataset, YnatEvaluator
from ais_bench.benchmark.openicl.icl_inferencer import PPLInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import BM25Retriever

topics = ["IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치"]

ynat_reader_cfg = dict(input_columns=["title"], output_column="topic")

ynat_infer_cfg = dict(
    ice_template=dict(
        type=PromptTemplate,
        template={topic: f"기사 제목: {{title}}\n분야: {topic}" for topic in topics},
    ),
    prompt_template=dict(
        type=PromptTemplate,
        template={
            topic: f"다음 기사 제목의 분야를 고르세요.\n\n</E>기사 제목: {{title}}\n분야: {topic}"
            for topic in topics
        },
        ice_token="</E>",
    ),
    retriever=dict(type=BM25Retriever, ice_num=5, ice_separator="\n\n", ice_eos_token="\n\n"),
    inferencer=dict(type=PPLInferencer),
)

ynat_datasets = [
    dict(
        abbr="ynat_ppl",
        type=YnatDataset,
        path="ais_bench/datasets/klue/ynat/validation.json",
        reader_cfg=ynat_reader_cfg,
        infer_cfg=ynat_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=YnatEvaluator)),
    )
]
