package main

import (
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter"
)

// parseTools reads the flag --tools; empty is legacy.
func parseTools(tools string) (netfilter.Dialect, error) {
	switch tools {
	case "", "legacy":
		return netfilter.Legacy, nil
	case "nft":
		return netfilter.NFT, nil
	}
	return netfilter.Legacy, fmt.Errorf("--tools %s: want legacy or nft", tools)
}
