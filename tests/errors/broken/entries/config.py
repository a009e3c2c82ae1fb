from ais_bench.benchmark.datasets import CapitalsDataset, CapitalsEvaluator, capitals_postprocess
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import FixKRetriever

capitals_datasets = [
    dict(
        abbr=f"capitals-{continent}",
        type=CapitalsDataset,
        path="data.json",
        continent=continent,
        reader_cfg=dict(input_columns=["country"], output_column="capital"),
        infer_cfg=dict(
            ice_template=dict(type=PromptTemplate, template="The capital of {country} is {capital}."),
            prompt_template=dict(
                type=PromptTemplate,
                template="</E>The capital of {country} is {capital}",
                ice_token="</E>",
            ),
            retriever=dict(type=FixKRetriever, fix_id_list=[0]),
            inferencer=dict(type=GenInferencer, max_out_len=8),
        ),
        eval_cfg=dict(
            evaluator=dict(type=CapitalsEvaluator),
            pred_postprocessor=dict(type=capitals_postprocess),
            dataset_postprocessor=dict(type=capitals_postprocess),
        ),
    )
    for continent in ("europe", "asia")
]
