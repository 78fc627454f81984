# The targets of everyday work; `make help` lists them. Everything here works on a machine with Go, Node 20 and apt: what
# else a target needs it installs, and if it cannot, it says what is missing (scripts/need). Nothing is done twice: what is
# built carries the time of its sources.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables

BIN := bin/covel
WEB := gateway/web
TOOLS := .tools
NPM := npm --prefix $(WEB)
# npm writes this file itself when it has installed everything.
INSTALLED := $(WEB)/node_modules/.package-lock.json

STATICCHECK := $(TOOLS)/staticcheck-v0.8.2
PROTOC_GEN_GO := $(TOOLS)/protoc-gen-go

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PROTOS := $(shell find proto -name '*.proto' | sort)
WEB_SOURCES := $(shell find $(WEB)/src $(WEB)/public $(WEB)/index.html $(WEB)/vite.config.ts $(WEB)/tsconfig.json -type f 2>/dev/null)

# For `make run ARGS="--addr 127.0.0.1:9000"`, `make test-go RUN=TestHouse PKG=./internal/arch`, `make fuzz FUZZTIME=1m`.
ARGS ?=
PKG ?= ./...
RUN ?= .
FUZZTIME ?= 10s
# For `make soak`; without FROM it goes on where nobody was: a seed of the moment.
SOAK ?= 10m
SEEDS ?=
SEED ?=
FROM ?= $(if $(SEEDS)$(SEED),0,$(shell date +%s)000000)

.PHONY: help
help: ## what there is to make
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

## Running

.PHONY: run
run: build ## build what is stale and start the server; it prints its address (ARGS="--addr …")
	@exec $(BIN) serve $(ARGS)

.PHONY: build
build: need-go $(WEB)/dist/index.html ## the program with its page: bin/covel
	@go build -ldflags '-X main.version=$(VERSION)' -o $(BIN) ./cmd/covel

.PHONY: web
web: $(WEB)/dist/index.html ## the page alone

$(WEB)/dist/index.html: $(INSTALLED) $(WEB_SOURCES)
	@$(NPM) run --silent build
	@touch $@

$(INSTALLED): $(WEB)/package.json $(WEB)/package-lock.json
	@scripts/need node
	@$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

## Testing

.PHONY: test
test: lint test-go test-web test-browser test-e2e ## everything, as CI does
	@echo 'make test: everything passed'

.PHONY: test-go
test-go: need-go need-cc ## Go tests with the race detector (PKG=./kernel/... RUN=TestName)
	@go test -race -vet=off -timeout 10m -run '$(RUN)' $(PKG)

.PHONY: soak
soak: need-go ## random lives of sessions, many (SOAK=10m, or SEEDS=100000; FROM=n the first seed; SEED=n one, printed)
	@$(if $(SEED)$(SEEDS),,SOAK=$(SOAK)) FROM=$(FROM) SEEDS=$(SEEDS) SEED=$(SEED) \
	  go test ./kernel/session/simulation -run TestLives -count 1 -timeout 0 -v

.PHONY: test-web
test-web: web ## the client: types, unit tests, size of the bundle
	@$(NPM) run --silent typecheck
	@$(NPM) run --silent test
	@$(NPM) run --silent size

.PHONY: test-browser
test-browser: web need-chromium ## the client in Chromium, against a server that plays a script
	@$(NPM) run --silent test:browser

.PHONY: test-e2e
test-e2e: build need-chromium ## a real server: the page in Chromium, and the examples of docs/ in the terminal client
	@scripts/with-server $(BIN) -- $(NPM) run --silent test:e2e
	@scripts/with-server $(BIN) --pace 0 -- scripts/play-examples $(BIN)

## Keeping order

.PHONY: lint
lint: lint-go lint-house lint-proto lint-web ## format, vet, staticcheck, import rules, generated code, eslint, prettier

.PHONY: lint-go
lint-go: need-go $(STATICCHECK)
	@bad=$$(find . -name '*.go' -not -path '*/node_modules/*' -exec gofmt -l {} +); \
	[ -z "$$bad" ] || { echo "not formatted; run gofmt -w on:"; echo "$$bad"; exit 1; } >&2
	@go vet ./...
	@$(STATICCHECK) ./...

.PHONY: lint-house
lint-house: need-go
	@go test -count=1 ./internal/arch ./internal/rulebook

# The generated code is compared where protoc is there; the comment that names protoc's version does not count.
.PHONY: lint-proto
lint-proto: need-go $(PROTOC_GEN_GO)
	@command -v protoc >/dev/null || { echo 'protoc is not here: generated code not compared (make proto installs it)'; exit 0; }; \
	out=$$(mktemp -d); trap 'rm -rf "$$out"' EXIT; \
	$(call protoc,$$out); \
	diff -r -q -I '^// 	protoc ' -x '*.proto' proto "$$out" || { echo 'generated code is stale; run make proto'; exit 1; } >&2

.PHONY: lint-web
lint-web: $(INSTALLED)
	@$(NPM) run --silent lint

.PHONY: proto
proto: need-go need-protoc $(PROTOC_GEN_GO) ## generate Go from proto/**/*.proto
	@$(call protoc,proto)

# $(call protoc,FOLDER): generate into FOLDER.
protoc = protoc --plugin=protoc-gen-go=$(PROTOC_GEN_GO) -I proto --go_out=$(1) --go_opt=paths=source_relative $(PROTOS)

.PHONY: rules
rules: need-go ## write docs/kernel-rules.md from the tests
	@go test ./internal/rulebook -run TestBook -update

## Measuring and searching

.PHONY: bench
bench: build ## Go benchmarks, then the figures of covel bench beside their limits
	@go test -run '^$$' -bench . -benchmem $(PKG)
	@$(BIN) bench append
	@$(BIN) bench turn
	@$(BIN) bench activate

.PHONY: fuzz
fuzz: need-go ## every fuzz target for a short while (FUZZTIME=1m)
	@grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		grep -ohE '^func Fuzz[[:alnum:]_]+' "$$dir"/*_test.go | cut -c6- | while read -r target; do \
			echo "$$dir $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$dir" </dev/null; \
		done; \
	done

.PHONY: clean
clean: ## remove all that make built or fetched here
	@rm -rf bin $(TOOLS) $(WEB)/node_modules
	@find $(WEB)/dist -mindepth 1 -not -name .gitkeep -delete

## What targets need

$(TOOLS):
	@mkdir -p $@

$(STATICCHECK): | $(TOOLS)
	@scripts/need go
	@GOBIN=$(CURDIR)/$(TOOLS) go install honnef.co/go/tools/cmd/staticcheck@$(lastword $(subst -, ,$@))
	@mv $(TOOLS)/staticcheck $@

# The generator has the version of the library in go.mod, so the two always fit.
$(PROTOC_GEN_GO): go.mod | $(TOOLS)
	@scripts/need go
	@go build -o $@ google.golang.org/protobuf/cmd/protoc-gen-go
	@touch $@

.PHONY: need-go need-cc need-protoc need-chromium
need-go need-cc need-protoc need-chromium: need-%:
	@scripts/need $*
