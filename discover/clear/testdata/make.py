"""Makes results as CLEAR writes them, of invented rows: python3 make.py (needs pyarrow).

2026.zip     as CLEAR 2.0 writes them: names as JSON, the column error
2025.zip     as it wrote them before: names as Python's repr, no column error, columns that are all null
semicolon.zip  results.csv, names with semicolons between them
several.zip  the first two, each as a ZIP file inside
one.zip      the second in a ZIP file inside
"""

import io
import json
import zipfile

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

NAMES = ["Doesn't answer the question", "Invents \"facts\"; cites nothing", "Zu lang für die Frage – 😀"]


def parquet(columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="brotli", use_dictionary=True)
    return out.getvalue()


def package(name, entries):
    with zipfile.ZipFile(name, "w") as z:
        for entry, data in entries:
            z.writestr(zipfile.ZipInfo(entry, (1980, 1, 1, 0, 0, 0)), data)


# Rows: two issues, one, none and good, none and bad, a failed mapping, no score, no summary.
numbers = [[1, 3], [2], [], [], [], [], []]
scores = [0.25, 0.5, 1.0, 0.75, 0.5, None, 0.25]
summaries = ["It's off.\nAnd long.", "No source.", "Fine.", "Hardly wrong.", "Cut.", None, None]
errors = [[], [], [], [], ["Mapping: timed out after 'n' tries"], ["Evaluation: 503", "Summary: no text"], []]
texts = {
    "model_input": [f"Question {n}?" for n in range(1, 8)],
    "question_id": [f"q{n}" for n in range(1, 8)],
    "response": ["A", "B", "C", "D", "E", "F", "G"],
}

metadata = {"run_name": "invented", "gen_model_name": "none", "eval_model_name": "none", "task": "general",
            "input_columns": ["model_input"], "high_score_threshold": 0.91, "use_full_text_for_analysis": False}
package("2026.zip", [
    ("results.parquet", parquet({
        "model_input": texts["model_input"], "question_id": texts["question_id"], "response": texts["response"],
        "score": pa.array(scores, pa.float64()),
        "evaluation_text": [f"Long text {n}" for n in range(1, 8)],
        "evaluation_summary": summaries,
        "recurring_issues": [str(row) for row in numbers],
        "recurring_issues_str": [json.dumps([NAMES[n - 1] for n in row]) if row else "[]" for row in numbers],
        "ground_truth": pa.nulls(7),
        "error": [str(row) for row in errors],
    })),
    ("metadata.json", json.dumps(metadata, indent=2)),
])
package("2025.zip", [
    ("results.parquet", parquet({
        "question": [f"Question {n}?" for n in range(1, 7)],
        "documents": [f"Document {n}" for n in range(1, 7)],
        "question_id": pa.array(range(1, 7), pa.int64()),
        "model_input": pa.nulls(6),
        "response": texts["response"][:6],
        "score": pa.array(scores[:6], pa.float64()),
        "evaluation_text": [f"Long text {n}" for n in range(1, 7)],
        "evaluation_summary": pa.nulls(6),
        "recurring_issues": [str(row) for row in numbers[:6]],
        "recurring_issues_str": [str([NAMES[n - 1] for n in row]) for row in numbers[:6]],
        "ground_truth": pa.nulls(6),
    })),
    ("metadata.json", json.dumps({"run_name": "older", "task": "rag", "high_score_threshold": 1,
                                  "use_full_text_for_analysis": True, "max_shortcomings": 12345678901234567890})),
])
table = io.BytesIO()
pyarrow.csv.write_csv(pa.table({
    "question_id": ["a", "b", "c"], "model_input": ["x", "y", "z"], "response": ["1", "2", "3"],
    "score": ["0.5", "1.0", ""], "recurring_issues": ["[2, 1]", "[]", "[]"],
    "recurring_issues_str": ["Too short; Too vague", "", ""]}), table)
package("semicolon.zip", [("results_a.csv", table.getvalue()), ("metadata_a.json", json.dumps(metadata))])
for name, inside in [("several.zip", ["2025.zip", "2026.zip"]), ("one.zip", ["2026.zip"])]:
    package(name, [("folder/readme.txt", "two runs")] + [(f"folder/{i}", open(i, "rb").read()) for i in inside])
