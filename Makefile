# The two commands that most people need are "make demo" and "make test"; "make help" lists the rest.
# Everything is built from pinned Go modules; nothing but Go has to be installed (and root, on Linux, for pods that really run).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The same settings everywhere, so that everything shares one build cache and equal sources make equal binaries.
export GOFLAGS := -trimpath -buildvcs=false
export CGO_ENABLED := 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
IMAGE ?= mcptasks:dev
LDFLAGS := -s -w -X github.com/mcptasks/mcptasks/internal/version.version=$(VERSION)
# Containers run on Linux, whatever this machine is.
IMAGE_ARCH ?= $(shell go env GOARCH)

LOCALCLUSTER := go -C test/localcluster run .
CONTROLLER_GEN := go tool -modfile=tools/controller-gen/go.mod controller-gen
# Where make generate puts things: here, or into the directory that make verify-generated compares.
OUT ?= .

##@ Try it

.PHONY: demo
demo: ## Start a local cluster, install mcptasks, and call a tool in front of you (CLUSTER=current: your kubeconfig's cluster)
	go run ./test/demo

.PHONY: demo-down
demo-down: ## Remove what make demo started
	go run ./test/demo down

.PHONY: cluster-up
cluster-up: ## Start the local cluster, without anything in it
	$(LOCALCLUSTER) up

.PHONY: cluster-down
cluster-down: ## Stop the local cluster
	$(LOCALCLUSTER) down

##@ Test

.PHONY: test
test: ## Run all tests, setting up what they need
	go run ./test/run

.PHONY: test-unit
test-unit: ## Run the tests that need nothing but Go
	go run ./test/run unit

.PHONY: fuzz
fuzz: ## Hand all fuzz targets random input (FUZZTIME=1h: for an hour together; RUN=regex: only these)
	go run ./test/run --fuzztime '$(or $(FUZZTIME),3m)' --run '$(RUN)' fuzz

.PHONY: test-integration
test-integration: ## Run the tests against a real API server (no root needed)
	go run ./test/run integration

.PHONY: test-e2e
test-e2e: ## Run the tests on the local cluster with the chart installed (RUN=regex: only these)
	go run ./test/run --run '$(RUN)' e2e

.PHONY: conformance
conformance: ## Run the official MCP conformance suite and the official clients against the installed endpoint
	go run ./test/run conformance

.PHONY: bench
bench: ## Measure the endpoint on a real API server, as ratios to what the machine can do at best (on an idle machine)
	go run ./test/bench

.PHONY: lint
lint: ## Run golangci-lint with the Kubernetes API linter (the first run builds it, 5 minutes)
	go build -C tools/golangci-lint -o $(CURDIR)/bin/golangci-lint sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter
	for module in . hack/image test/images/migrate test/localcluster; do (cd $$module && $(CURDIR)/bin/golangci-lint run); done

# The pages of what tests prove are not among them: hack/traceability --check, which make test runs, compares them and says more.
.PHONY: verify-generated
verify-generated: ## Fail if generated code, CRDs or roles are not what make generate makes
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(MAKE) --no-print-directory --silent generate OUT="$$tmp"; \
	for path in api/v1alpha1/zz_generated.deepcopy.go config/crd config/rbac charts/mcptasks/files; do \
		diff -ru "$$path" "$$tmp/$$path" || { echo "$$path is stale: run make generate and commit the result" >&2; exit 1; }; \
	done

##@ Build

.PHONY: generate
generate: ## Generate deepcopy code, CRDs, roles, their copies in the chart, and the pages of what tests prove
	mkdir -p $(OUT)/api/v1alpha1 $(OUT)/config/crd $(OUT)/config/rbac
	rm -f $(OUT)/config/crd/*.yaml $(OUT)/config/rbac/*.yaml
	$(CONTROLLER_GEN) object paths=./api/v1alpha1 output:object:dir=$(OUT)/api/v1alpha1
	$(CONTROLLER_GEN) crd:generateEmbeddedObjectMeta=true paths=./api/v1alpha1 output:crd:dir=$(OUT)/config/crd
	$(CONTROLLER_GEN) rbac:roleName=mcptasks-controller,fileName=controller.yaml \
		paths=./internal/controller/... output:rbac:dir=$(OUT)/config/rbac
	$(CONTROLLER_GEN) rbac:roleName=mcptasks-endpoint,fileName=endpoint.yaml \
		paths="./internal/auth/...;./internal/mcp/...;./internal/store/..." output:rbac:dir=$(OUT)/config/rbac
	go run ./hack/manifests --crds $(OUT)/config/crd --roles $(OUT)/config/rbac --chart $(OUT)/charts/mcptasks
	go run ./hack/traceability --out $(OUT)/docs

.PHONY: build
build: ## Build the binaries for this machine into bin/
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: image
image: ## Build the container image into dist/mcptasks.tar, without Docker (IMAGE=name:tag)
	GOOS=linux GOARCH=$(IMAGE_ARCH) go build -ldflags '$(LDFLAGS)' -o dist/linux-$(IMAGE_ARCH)/ ./cmd/mcptasks ./cmd/mcptask
	go -C hack/image run . --out $(CURDIR)/dist/mcptasks.tar --tag $(IMAGE) --arch $(IMAGE_ARCH) --user 65532:65532 \
		--file $(CURDIR)/dist/linux-$(IMAGE_ARCH)/mcptasks:/usr/local/bin/mcptasks \
		--file $(CURDIR)/dist/linux-$(IMAGE_ARCH)/mcptask:/usr/local/bin/mcptask \
		--entrypoint /usr/local/bin/mcptasks

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
