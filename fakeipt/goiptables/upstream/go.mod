module github.com/chainwalk/chainwalk/fakeipt/goiptables/upstream

go 1.26.8

require (
	github.com/chainwalk/chainwalk v0.0.0
	github.com/coreos/go-iptables v0.8.0
	github.com/stretchr/testify v1.12.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/vishvananda/netns v0.0.5 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.49.0 // indirect
	k8s.io/utils v0.0.0-20260707023825-cf1189d6abe3 // indirect
)

replace github.com/chainwalk/chainwalk => ../../..
