# Every target is what CI runs; `make help` lists them.

GO            ?= go
GOLANGCI_LINT ?= v2.15.0
CASES         := scenarios/testdata/cases
REGRESS       := scenarios/testdata/regress
# CI takes one part of four of what is long and seldom changes, and the next part with the next commit: CHAINWALK_PART=2/4 (internal/sample). IN_PART
# takes the lines of that part, or all lines. make deep is all parts at once.
IN_PART       := awk -v part="$$CHAINWALK_PART" 'BEGIN { split(part, p, "/") } !p[2] || NR % p[2] == p[1] % p[2]'

.DEFAULT_GOAL := help
.PHONY: help build run test test-all race race-all flaky kernel kernel-nft kernel-cases kernel-long ailments deep lint fmt bench bench-large bench-kernel bench-peer weight fuzz rejudge explore page playground playground-test browser-size fuzz-targets track-record track-record-patches mutate peer peer-matrix hunt verify kind-node-image kind-binaries apiserver-test kind-engine kind-e2e gather-e2e migrate-e2e kind-join kind-remove kind-engine-stop programs examples goiptables pages release-snapshot

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/chainwalk, and bin/chainwalk-kind that "run --on kind" needs
	$(GO) build -o bin/chainwalk ./cmd/chainwalk
	$(GO) build -o bin/chainwalk-kind ./cmd/chainwalk-kind

run: ## run the shipped scenario files on the simulator
	$(GO) run ./cmd/chainwalk run $(CASES)

# The race detector finds something only where there are goroutines. What repeats in one of them is sampled with it (internal/race); `go test ./...` has all
# of it, and vets it. A test binary would sleep for a second at its end, in case a goroutine is left.
RACE := GORACE=atexit_sleep_ms=50 GOFLAGS=-race
test: ## run the tests, those of packages that start goroutines with the race detector (needs a C compiler; plain `go test ./...` does not)
	$(GO) test $$($(GO) run ./internal/race/packages -others ./...)
	$(MAKE) race

race: ## run the tests of the packages that start goroutines with the race detector
	all=$$($(GO) run ./internal/race/packages ./...) && packages=$$(echo "$$all" | $(IN_PART)) && $(RACE) $(GO) test -vet=off -timeout 20m $$packages

test-all: ## run the tests with all cases of those that take a part of them otherwise (internal/sample)
	CHAINWALK_ALL=1 $(GO) test ./...

race-all: ## run all tests with the race detector
	$(RACE) $(GO) test ./...

RUNS      ?= 200
PACKAGES  ?= ./...
SLOW      ?= 30s
SLOW_RUNS ?= 20
flaky: ## run the tests of PACKAGES (./...) RUNS (200) times, JOBS at once (twice the processors), with the race detector; print the failures
	$(GO) run ./internal/flaky -runs $(RUNS) $(addprefix -jobs ,$(JOBS)) -slow $(SLOW) -slow-runs $(SLOW_RUNS) $(PACKAGES)

RECORD ?= -kept -cases 800
track-record: ## find the bugs of the track record again, and run their scenarios with the bug and without (RECORD=-replay: run the scenarios only; RECORD="-seeds 5 -write": search for all and write the record)
	$(GO) run ./scenarios/search/trackrecord/record $(RECORD)

track-record-patches: ## update the patches of the track record's faults if the lines around them have moved
	$(GO) run ./scenarios/search/trackrecord/record -refresh

MUTATE_WITH ?= tests
mutate: ## change the proxier in many small ways, and print the changes that no test (MUTATE_WITH=fuzz: not chainwalk fuzz) notices; MUTATE has more flags
	$(GO) run ./internal/mutate -with $(MUTATE_WITH) $(MUTATE)

SEED         ?= 1
KERNEL_TIME  ?= 300s
KERNEL_CASES ?= 60
# Checks of each property, and four times the rules of one kind that -C and -D are tried on.
KERNEL_CHECKS ?= 20
# Sessions of nft in kernel: about ten seconds.
KERNEL_SESSIONS ?= 60
# Sessions of nft, and rulesets of its tables of each family: of up to 16 packets each, and half as many again beside legacy rules.
NFT_SESSIONS ?= 300
NFT_RULESETS ?= 40
NFT_SEED     ?= $(SEED)
NFT_OUT      ?= bin/nftdiffer
# The race detector is where what is tested starts goroutines; what is compared rule by rule, in one goroutine, goes without. Most of these tests
# wait for the kernel, so four packages are tested at once.
# Both differentials end after so many rulesets and sessions of each dialect and family; the time only bounds them on a slow machine.
KERNEL_TESTS := $(GO) test -vet=off -count=1 -timeout 20m -p 4 -run Kernel -json
kernel: SHELL := /bin/bash
kernel: ## compare the fake kernel and the walk with the real kernel and tools, and print the numbers; root on Linux, no test may be skipped
	@max=$$(cat /proc/sys/net/netfilter/nf_conntrack_max 2>/dev/null || echo 262144); test $$max -ge 4096 || { \
		echo "net.netfilter.nf_conntrack_max is $$max: a test that fills the table was ended before it set it back; sysctl net.netfilter.nf_conntrack_max=262144"; \
		exit 1; }
	@set -o pipefail; export CHAINWALK_KERNEL=1; { \
		$(KERNEL_TESTS) -parallel 8 ./fakeipt ./packetsim ./packetsim/snapshot -rapid.seed=$(SEED) -rapid.checks=$(KERNEL_CHECKS) -rapid.nofailfile && \
		$(KERNEL_TESTS) -race ./internal/namespace ./proxier/iptables ./kindtest/probe ./cmd/chainwalk && \
		$(KERNEL_TESTS) -parallel 4 ./kindtest/onkernel/ailments && \
		$(KERNEL_TESTS) ./fakenft/... ./netfilter/nftables ./internal/nftnetlink ./internal/nfnetlink ./internal/libc ./fakeipt/toolstate ./proxier ./proxier/conntrack \
			./proxier/nfacct ./proxier/sysctl ./scenarios/users/live ./kindtest/internal/socket ./kindtest/onkind/kind ./cmd/chainwalk-collect ./kindtest/onkernel/nftdiffer && \
		$(KERNEL_TESTS) ./kindtest/onkernel/differ; \
	} 2>&1 | $(GO) run ./kindtest/onkernel/differ/search -tests -seed $(SEED) -rulesets $(KERNEL_CASES) -chance 1 -time $(KERNEL_TIME) \
		-sessions $(KERNEL_SESSIONS) -natives $(NFT_RULESETS)

# The same sessions and rulesets as in kernel, but as many as are asked for.
kernel-nft: ## compare nft alone with the real tool and kernel: NFT_SESSIONS (300) sessions, NFT_RULESETS (40) rulesets of each family with packets, from NFT_SEED; shrunk cases go to NFT_OUT
	$(GO) run ./kindtest/onkernel/differ/search -seed $(NFT_SEED) -rulesets 0 -sessions $(NFT_SESSIONS) -natives $(NFT_RULESETS) -out $(NFT_OUT)

FORALL_PACKETS ?= 10000000
FORALL_SEED    ?= 1
FORALL_ARGS     = -timeout 0 -count=1 -v -args -forall-packets $$(($(FORALL_PACKETS) / 2)) -forall-seed $(FORALL_SEED)
.PHONY: forall
forall: ## compare the fates of all packets (package forall) with walks of FORALL_PACKETS (10000000) packets: half in random rulesets, half in scenarios and generated clusters, from FORALL_SEED; both halves at once, on a core each
	@mkdir -p bin; rm -f bin/forall.failed; export GOGC=$${GOGC:-400}; \
	{ { $(GO) test ./kindtest/onkernel/differ -run TestFatesOfRandomRulesets $(FORALL_ARGS) || touch bin/forall.failed; } & \
		$(GO) test ./forall -run 'TestFatesOf(Shipped|Generated)' $(FORALL_ARGS) || touch bin/forall.failed; wait; } | tee bin/forall.txt; \
	awk '/^TestFatesOf.* boxes, / { n = split($$0, part, ", "); packets += part[2]; wrong += part[n] } \
		END { printf "%d packets compared, %d disagreements\n", packets, wrong }' bin/forall.txt; test ! -e bin/forall.failed

kernel-cases: ## run every scenario file on the real kernel in network namespaces, and compare each packet's steps (MODE=nftables runs files that name no mode in that one; ONE_TOOL=1 runs each with iptables-legacy or iptables-nft, in turn)
	GOGC=$${GOGC:-400} CHAINWALK_KERNEL=1 $(GO) test -vet=off -count=1 -timeout 30m -parallel 4 -run Kernel -v ./kindtest/onkernel/netns -args $(addprefix -in-mode ,$(MODE)) $(if $(ONE_TOOL),-one-tool)

ailments: ## create failures of Services in network namespaces, and print what the kernel does and which cause doctor, trace and why name first; root on Linux
	@mkdir -p bin; CHAINWALK_KERNEL=1 $(GO) test -vet=off -count=1 -timeout 5m -parallel 4 -run Kernel ./kindtest/onkernel/ailments -table $(abspath bin/ailments.txt) || failed=1; \
		cat bin/ailments.txt; test -z "$$failed"

deep: export CHAINWALK_PART :=
deep: export CHAINWALK_ALL := 1
deep: ## run all of what CI takes a part or a sample of, before an issue is closed; it takes hours
	$(MAKE) test-all
	$(MAKE) race
	$(MAKE) kernel
	$(MAKE) kernel-cases
	$(MAKE) kernel-cases MODE=nftables
	$(MAKE) goiptables
	$(MAKE) apiserver-test
	$(MAKE) rejudge
	$(MAKE) fuzz FUZZ_RUNS=10000
	$(MAKE) track-record
	$(MAKE) peer-matrix
	$(MAKE) peer MODE=nftables
	$(MAKE) playground-test
	$(MAKE) verify

DIFFER_TIME ?= 90s
DIFFER_OUT  ?= bin/differ
# The text differential compares so many calls of the tools, however long that takes (50000: about 4 minutes); 0: for DIFFER_TIME too.
DIFFER_CALLS ?= 50000
ifndef DIFFER_SEED
DIFFER_SEED := $(shell date +%s)
endif
kernel-long: SHELL := /bin/bash
kernel-long: ## search for disagreements with the kernel for DIFFER_TIME (90s), and in DIFFER_CALLS (50000) calls of the tools, from a new DIFFER_SEED; shrunk cases go to DIFFER_OUT (DIFFER_FAVOUR=TEE,connlimit: draw these more often)
	@echo "seed $(DIFFER_SEED)"
	@set -o pipefail; { \
		CHAINWALK_KERNEL=1 $(GO) test -count=1 -timeout 24h -run TestConntrackAsKernel -json ./packetsim -rapid.seed=$(DIFFER_SEED) -rapid.nofailfile && \
		CHAINWALK_KERNEL=1 $(GO) test -count=1 -timeout 10m -run Kernel -json ./kindtest/onkernel/differ; \
	} 2>&1 | $(GO) run ./kindtest/onkernel/differ/search -tests -seed $(DIFFER_SEED) -calls $(DIFFER_CALLS) -time $(DIFFER_TIME) -sessions $(NFT_SESSIONS) -natives $(NFT_RULESETS) -out $(DIFFER_OUT) $(if $(DIFFER_FAVOUR),-favour $(DIFFER_FAVOUR))

lint: .tools/golangci-lint-$(GOLANGCI_LINT) ## run golangci-lint, which also holds the direction of imports
	$< run ./...

.tools/golangci-lint-$(GOLANGCI_LINT):
	GOBIN=$(CURDIR)/.tools GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	mv .tools/golangci-lint $@

fmt: ## format the code
	gofmt -s -w .

TIME      ?= 60s
FUZZ_RUNS ?=
FUZZ_OUT  ?= bin/fuzz
fuzz: build ## generate clusters and events for TIME (60s), or FUZZ_RUNS of them, from SEED (1), and judge all packets (MODE=nftables or both); failures go to FUZZ_OUT (bin/fuzz)
	bin/chainwalk fuzz $(addprefix --mode ,$(MODE)) --seed $(SEED) $(if $(FUZZ_RUNS),--runs $(FUZZ_RUNS),--time $(TIME)) --out $(FUZZ_OUT)

rejudge: build ## judge all stored scenarios by the specification, ignoring their own expectations
	bin/chainwalk fuzz judge $$(find $(CASES) $(REGRESS) -name '*.yaml' | sort | $(IN_PART))

CHROMIUM ?= chromium
PAGE_OUT := bin/page
page: ## open pages (-o html) in a headless Chromium (CHROMIUM), click through them, and save pictures in bin/page; the README's is docs/trace.png
	CHAINWALK_CHROMIUM=$(CHROMIUM) CHAINWALK_PAGE_OUT=$(abspath $(PAGE_OUT)) $(GO) test -count=1 -v -run InABrowser ./scenarios/explain/page/report ./scenarios/users/live ./scenarios/users/allpackets
	cp $(PAGE_OUT)/readme.png docs/trace.png

PLAYGROUND := bin/playground
# -quick packs what has no limit of size in a twentieth of the time.
SITE_FLAGS ?=
playground: ## build the playground (docs/playground.md) into bin/playground, a folder for any server of files; needs npm and zstd
	cd playground/web && npm ci --no-audit --no-fund --ignore-scripts
	rm -rf $(PLAYGROUND) && $(GO) run ./playground/site $(SITE_FLAGS) $(PLAYGROUND)
	cd playground/bundle && $(GO) run . ../web ../../scenarios/explain/page ../../$(PLAYGROUND)

playground-test: playground ## try the playground in a headless Chromium (CHROMIUM), print sizes and times, leave pictures in bin/playground-pictures
	CHAINWALK_CHROMIUM=$(CHROMIUM) CHAINWALK_PLAYGROUND=$(abspath $(PLAYGROUND)) $(GO) test -count=1 -timeout 30m -v ./playground

FUZZTIME ?= 20s
BROWSER := scenarios/explain/browser
# Without functions copied into their callers a browser loads an eighth less.
BROWSER_FLAGS := -gcflags=all=-l -ldflags='-s -w'
browser-size: ## print how many bytes a browser loads for a trace, and for a trace with its page: the program as it is, and compressed with gzip and, if installed, brotli
	@for program in trace page; do \
		GOOS=js GOARCH=wasm $(GO) build $(BROWSER_FLAGS) -o bin/$$program.wasm ./$(BROWSER)/$$program || exit; \
		printf '%-6s %9d bytes, gzip -9 %8d' $$program $$(wc -c < bin/$$program.wasm) $$(gzip -9 -c bin/$$program.wasm | wc -c); \
		if command -v brotli >/dev/null; then printf ', brotli -q 11 %8d' $$(brotli -q 11 -w 24 -c bin/$$program.wasm | wc -c); fi; \
		echo; \
	done

fuzz-targets: ## run every Go fuzz target for FUZZTIME (20s), a time or a number of inputs such as 1000000x
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
		done; \
	done

EXPLORE_DEPTH ?= 6
explore: ## try every sequence of up to EXPLORE_DEPTH (6) events of a flow, in each mode (MODE=nftables or iptables: in one); about half an hour a mode
	$(addprefix CHAINWALK_EXPLORE_MODE=,$(MODE)) CHAINWALK_ALL=1 CHAINWALK_EXPLORE_DEPTH=$(EXPLORE_DEPTH) $(GO) test -count=1 -timeout 6h -v -run 'TestExplore$$' ./scenarios/search/explore

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

LARGE ?= 1000

bench-large: build ## measure time and memory of doctor and of scenario from over a large cluster, sound and broken (LARGE=services)
	$(GO) run ./scenarios/users/large/measure -chainwalk bin/chainwalk -services $(LARGE)

bench-kernel: ## measure restore, save, nft and verdicts beside the real tools and kernel in one run; root on Linux
	CHAINWALK_KERNEL=1 $(GO) test -run '^$$' -bench BesideTheRealKernel ./fakeipt ./fakenft ./packetsim ./cmd/chainwalk

# The nested module proxier/upstream imports kube-proxy, which this module never does.
PEER_CASES ?= 1000
# UPSTREAM is the version of kube-proxy: 1.37 of its go.mod unless another one is named, of which a module file in proxier/upstream/versions says what
# is linked.
UPSTREAM     ?= 1.37
PEER_MOD      = $(if $(filter-out 1.37,$(UPSTREAM)),-modfile=versions/$(UPSTREAM).mod)
PEER_FLAGS    = $(PEER_MOD) $(if $(PEER_MOD),-tags=upstream_$(subst .,_,$(UPSTREAM)))
# Of v1.35 only what the peer compares, and what it wrote, is held: which findings it has, and which feature gates, nobody has written down.
PEER_TESTS   ?= $(if $(filter 1.35,$(UPSTREAM)),./cases ./judge ./cmd/peer ./cmd/rules,./...)
# KUBERNETES is a checkout of kubernetes to take kube-proxy from. UPSTREAM says then whose interfaces it has, where that cannot be told.
ifdef KUBERNETES
FROM_CHECKOUT = flags=$$($(GO) run ./internal/checkout/modfile -kubernetes "$(KUBERNETES)" $(if $(filter-out file,$(origin UPSTREAM)),-line $(UPSTREAM))) &&
PEER_FLAGS    = $$flags
endif
peer: ## compare with kube-proxy's own proxier: rules, packets and metrics after PEER_CASES (1000) sequences of changes (SEED=1, MODE=nftables, UPSTREAM=1.36 or 1.35 for that version and not 1.37, KUBERNETES=DIR for a checkout; PEER_REAL=N runs N of them on the real nft too)
	$(FROM_CHECKOUT) cd proxier/upstream && $(if $(KUBERNETES),,$(GO) mod tidy -diff $(PEER_MOD) && $(GO) vet $(PEER_FLAGS) ./... && $(GO) test $(PEER_FLAGS) $(PEER_TESTS) &&) \
		$(GO) run $(PEER_FLAGS) ./cmd/peer $(addprefix -mode ,$(MODE)) $(addprefix -real ,$(PEER_REAL)) -seed $(SEED) -cases $(PEER_CASES)

peer-matrix: ## run make peer with each version of kube-proxy that links: 1.35, 1.36 and 1.37
	$(MAKE) peer UPSTREAM=1.35
	$(MAKE) peer UPSTREAM=1.36
	$(MAKE) peer UPSTREAM=1.37

HUNT_RUNS ?= 3000
HUNT_OUT  ?= bin/hunt
# The program takes the place of the shell, so that it hears what ends make, and prints what it has found. go run would leave it running.
hunt: ## run HUNT_RUNS (3000) generated cases (SEED=1) with kube-proxy's own proxier (MODE, UPSTREAM and KUBERNETES as for peer), and judge them by the specification; failures go to HUNT_OUT
	$(FROM_CHECKOUT) cd proxier/upstream && $(GO) build $(PEER_FLAGS) -o $(abspath bin/hunt-kube-proxy) ./cmd/hunt && \
		exec $(abspath bin/hunt-kube-proxy) $(addprefix -mode ,$(MODE)) -seed $(SEED) -runs $(HUNT_RUNS) -out $(abspath $(HUNT_OUT))

bench-peer: ## measure time, bytes and memory beside kube-proxy's own proxier in one run (MODE=nftables)
	cd proxier/upstream && $(GO) run ./cmd/bench $(addprefix -mode ,$(MODE))

# Without cgo, as the nodes have the same packages without it: one build in place of two.
E2E_OUT ?= bin/kind-e2e
E2E_FLAGS = -out $(E2E_OUT) $(if $(KEEP),-keep) $(if $(CLUSTER),-cluster $(CLUSTER)) $(if $(NODE_IMAGE),-image $(NODE_IMAGE)) $(if $(KUBERNETES),-kubernetes "$(KUBERNETES)" -proxy kube-proxy,$(if $(PROXY),-proxy $(PROXY))) \
	$(if $(MODE),-mode $(MODE)) $(if $(TOOL),-tool $(TOOL)) $(if $(FAMILY),-family $(FAMILY)) $(if $(FAULT),-fault $(FAULT)) $(if $(ONLY),-only $(ONLY)) $(if $(SINGLE),-single)
kind-e2e: ## run the scenarios, and changes under traffic, on kind clusters, and compare what happened with what was expected and predicted (docs/kind.md: PROXY, KUBERNETES, MODE, TOOL, FAMILY, FAULT, KEEP, CLUSTER, SINGLE, NODE_IMAGE, E2E_CASES)
	CGO_ENABLED=0 $(GO) run ./kindtest/onkind/e2e $(E2E_FLAGS) $(E2E_CASES)

kind-remove: ## delete the clusters that KEEP=1 left (CLUSTER, by default chainwalk, and the one beside it), with volumes, network and outside containers
	CGO_ENABLED=0 $(GO) run ./kindtest/onkind/e2e -remove $(if $(CLUSTER),-cluster $(CLUSTER))

gather-e2e: ## gather from a kind cluster with the rights of docs/gather.yaml: find planted faults, take each right away in turn, leave nothing behind (docs/gather.md: NODE_IMAGE)
	CGO_ENABLED=0 CHAINWALK_GATHER=1 NODE_IMAGE=$(NODE_IMAGE) $(GO) test -tags clusters -vet=off -count=1 -timeout 30m -v ./kindtest/onkind/gathering

migrate-e2e: ## change the mode of kube-proxy on two kind clusters, there and back, and compare each packet and all rules with what migrate foretold (docs/migrate.md: PROXY, NODE_IMAGE)
	CGO_ENABLED=0 CHAINWALK_MIGRATION=1 PROXY=$(PROXY) NODE_IMAGE=$(NODE_IMAGE) $(GO) test -tags clusters -vet=off -count=1 -timeout 30m -v ./kindtest/onkind/migration

kind-join: ## compare the reports REPORTS of make kind-e2e, and list their differences
	CGO_ENABLED=0 $(GO) run ./kindtest/onkind/e2e -join $(REPORTS)

programs: ## run firewall programs and kube-proxy on the real tools and the fake ones at once, and compare every call (docs/programs.md: PROGRAMS); root on Linux
	$(GO) run ./kindtest/onkernel/programs/run $(PROGRAMS)

kind-node-image: ## build the node image for kind from Debian packages and Go modules; root on Linux, debootstrap, Docker (docs/kind.md)
	$(GO) run ./kindtest/onkind/nodeimage/build

kind-binaries: ## build Kubernetes and etcd for the node image and for apiserver-test, and print their folder
	$(GO) run ./kindtest/onkind/nodeimage/build -binaries

apiserver-test: kind-binaries ## run the proxier and the scenarios' objects against a real API server on loopback; no test may be skipped
	CHAINWALK_APISERVER=1 $(RACE) $(GO) test -tags clusters -vet=off -count=1 -timeout 20m ./kindtest/onkind/apiserver

kind-engine: ## start a Docker engine on a machine whose init does not start it; root on Linux
	$(GO) run ./kindtest/onkind/nodeimage/engine

kind-engine-stop: ## stop the Docker engine that kind-engine started
	$(GO) run ./kindtest/onkind/nodeimage/engine -stop

WEIGHT_LIMIT ?= 45
weight: ## print what chainwalk weighs: size, by module, start and memory of some commands; it fails from WEIGHT_LIMIT (45) MB without symbols on, or if a command takes more memory than it may
	$(GO) run ./internal/weight -limit $(WEIGHT_LIMIT)

examples: ## build and test the modules of docs/examples, which use chainwalk like any other module
	set -e; for module in docs/examples/*/; do (cd $$module && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) test ./...); done

GOIPTABLES_CASES ?= 25
goiptables: ## make drawn calls of go-iptables on the real tools and of fakeipt/goiptables on the fake ones, GOIPTABLES_CASES (25) times 20 for each dialect and family (SEED=1); root on Linux
	cd fakeipt/goiptables/upstream && $(GO) mod tidy -diff && $(GO) vet ./... && \
		CHAINWALK_KERNEL=1 $(GO) test -count=1 -run Kernel ./... -rapid.seed=$(SEED) -rapid.checks=$(GOIPTABLES_CASES) -rapid.nofailfile

# The tag pages links what writes them, which the program of a release does without.
pages: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
pages: ## write the manual pages and shell completions to bin/pages, of the commands
	rm -rf bin/pages && $(GO) run -tags pages ./cmd/chainwalk pages bin/pages && gzip -9n bin/pages/man/*

# The last goreleaser that is built from modules which the Go module proxy has, with the Go of go.mod.
GORELEASER ?= v2.14.3
CYCLONEDX  ?= v1.10.0
release-snapshot: .tools/goreleaser-$(GORELEASER) .tools/cyclonedx-gomod pages ## build what a release has into dist, publish nothing, and try all of it: programs, archives, deb, rpm, image, lists of components, sums
	PATH=$(CURDIR)/.tools:$$PATH $< release --snapshot --clean --skip=publish
	$(GO) run ./internal/release -dist dist

.tools/goreleaser-$(GORELEASER):
	GOBIN=$(CURDIR)/.tools GOFLAGS= $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER)
	mv .tools/goreleaser $@

.tools/cyclonedx-gomod:
	GOBIN=$(CURDIR)/.tools GOFLAGS= $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX)

# Each system besides this one compiles all that the program links once more. CI has one of them; make release-snapshot builds for both.
SYSTEMS ?= darwin windows
verify: ## check that go.mod is tidy, the code formatted, generated files are fresh, and that packages with files for other SYSTEMS (darwin windows) compile there
	$(GO) mod tidy -diff
	@test -z "$$(gofmt -s -l .)" || { echo "not gofmt-ed (make fmt):"; gofmt -s -l .; exit 1; }
	$(GO) vet -tags clusters ./...
	@for system in $(SYSTEMS); do \
		echo "GOOS=$$system go vet, of packages with files for other systems"; \
		GOOS=$$system $(GO) vet $$($(GO) list -f '{{if .IgnoredGoFiles}}{{.ImportPath}}{{end}}' ./...) || exit; \
	done
	$(GO) run ./cmd/chainwalk schema | diff docs/scenario.schema.json - || { echo "docs/scenario.schema.json is stale: go run ./cmd/chainwalk schema > docs/scenario.schema.json"; exit 1; }
	$(GO) run ./cmd/chainwalk schema doctor | diff docs/doctor.schema.json - || { echo "docs/doctor.schema.json is stale: go run ./cmd/chainwalk schema doctor > docs/doctor.schema.json"; exit 1; }
	$(GO) run ./cmd/chainwalk schema migrate | diff docs/migrate.schema.json - || { echo "docs/migrate.schema.json is stale: go run ./cmd/chainwalk schema migrate > docs/migrate.schema.json"; exit 1; }
	CHAINWALK_ALL=1 $(GO) test -run TestPagesShowWhatIsPrinted ./cmd/chainwalk
	$(GO) test -run TestSpecificationIsFresh ./scenarios/spec/oracle
	$(GO) test -run TestExtensionsAreFresh ./packetsim
