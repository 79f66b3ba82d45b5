package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/search/fuzz"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

// TestAHuntThatIsInterruptedSaysSo: it prints what it has found, and could not look at all (command.Broken).
func TestAHuntThatIsInterruptedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, told strings.Builder
	o := options{number: -1, fuzz: fuzz.Options{Program: "hunt", Seed: 1, Runs: 3, Trial: trial.Options{Proxier: peers.Process}}, seeds: 2, told: &told}
	_, err := o.hunt(ctx, nil, &out)
	require.EqualError(t, err, "interrupted: 0 cases were judged")
	assert.Contains(t, out.String(), "interrupted: this is what was found so far")
	assert.Contains(t, told.String(), "connections a second")
}
