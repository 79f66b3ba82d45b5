package internal_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/logbook"
)

func TestLinesAreSentences(t *testing.T) {
	var b logbook.Book
	l := b.Logger()
	l.Info("Synced")
	l.V(1).Info("too much")
	l.WithName("node1").WithValues("family", "IPv4").Info("Skipped", "slice", klog.KRef("shop", "web-1"))
	l.Error(errors.New("no such table"), "Not deleted")
	l.Error(nil, "Skipping", "odd")
	l.Info("Synced")
	assert.Equal(t, []string{"Synced", "node1: Skipped (family IPv4, slice shop/web-1)", "Not deleted: no such table", "Skipping (odd)"},
		b.Lines())
}

func TestSeveralWriteAtOnce(t *testing.T) {
	var b logbook.Book
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() { b.Logger().Info("line", "n", i) })
	}
	writers.Wait()
	assert.Len(t, b.Lines(), 8)
}
