package main

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// parseTools reads the flag --tools; empty is legacy.
func parseTools(tools string) (fakeipt.Dialect, error) {
	switch tools {
	case "", "legacy":
		return fakeipt.Legacy, nil
	case "nft":
		return fakeipt.NFT, nil
	}
	return fakeipt.Legacy, fmt.Errorf("--tools %s: want legacy or nft", tools)
}
