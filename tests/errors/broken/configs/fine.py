from mmengine.config import read_base
from opencompass.datasets import CapitalsDataset
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

with read_base():
    from .capitals_subsets import subsets

capitals_reader_cfg = dict(input_columns=['question'], output_column='answer')

capitals_datasets = []
for subset in subsets:
    infer_cfg = dict(
        prompt_template=dict(
            type=PromptTemplate,
            template=dict(round=[dict(role='HUMAN', prompt=f'About {subset}: {{question}}')]),
        ),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type=GenInferencer),
    )
    capitals_datasets.append(
        dict(
            type=CapitalsDataset,
            abbr=f'capitals-{subset}',
            path='data/capitals',
            name=subset,
            reader_cfg=capitals_reader_cfg,
            infer_cfg=infer_cfg,
            eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
        )
    )
