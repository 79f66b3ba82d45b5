package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
)

// reduce leaves out of a scenario file the steps without which it still fails with the fault and holds without: whoever made it small knew
// only the faulty proxier, and cannot tell a step that the failure needs from one that only keeps the others in order.
func reduce(ctx context.Context, b *binary, fault, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := replayBoth(ctx, b, fault, path); err != nil {
		return err
	}
	s, err := scenarios.Read(path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	head := headOf(string(text))
	for i := 0; i < len(s.Steps) && len(s.Steps) > 1; {
		less := *s
		less.Steps = slices.Delete(slices.Clone(s.Steps), i, i+1)
		if writeScenario(path, &less, head) == nil && replayBoth(ctx, b, fault, path) == nil {
			s = &less
			continue
		}
		i++
	}
	return writeScenario(path, s, head)
}

// headOf are the comments above a scenario.
func headOf(text string) []string {
	var head []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		head = append(head, strings.TrimSpace(comment))
	}
	return head
}

func writeScenario(path string, s *scenarios.Scenario, head []string) error {
	var b bytes.Buffer
	if err := scenarios.Write(&b, s, head...); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
