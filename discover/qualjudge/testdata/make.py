"""Makes results as the qualitative judge writes them, of invented rows: python3 make.py.

Row 2 was not analysed: it has no place, and the indexes of the report skip it. The row with the index 3 is in no issue.
"""

import json


def save(name, data):
    with open(name, "w") as f:
        json.dump(data, f, indent=4)


def row(n, analysis, **more):
    out = {"user_input": f"Frage {n}: größer?", "label": n * 1.50, "response": f"response {n}", **more, "analysis_trace": {}}
    return {**out, "analysis": analysis} if analysis else out


save("intermediate_outputs.json", {
    "per_instance_analysis": [
        row(7, "The response <b>ignores</b> the label."), row(2, "It is cut – at the end."), row(9, None),
        row(1, "It ignores the label, too.", llm_instruction="Document 1: text"), row(5, "Something else."),
        row(3, "Same name, other meaning 😀."),
    ],
    "clustering_debug": [{"step": "error_type_generation_0", "generated": {"error_name": "x"}}],
})
save("report.json", {
    "0": {"error_name": "Ignores the label", "error_description": "The response does not use it.", "count": 2,
          "indexes": [0, 2]},
    "1": {"error_name": "Cut", "error_description": "It ends early.", "count": 1, "indexes": [1]},
    "2": {"error_name": "Cut", "error_description": "A name that came twice.", "count": 1, "indexes": [4]},
})
save("config.json", {"input_file": "invented.json", "output_dir": "results", "top_n_examples": None})
