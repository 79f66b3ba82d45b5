package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestReadingWithin: a proxy that does not answer takes no time of other readings.
func TestReadingWithin(t *testing.T) {
	stopped := reading(func(ctx context.Context, _ string) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := stopped.within(ctx, time.Millisecond, "node1")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NoError(t, ctx.Err(), "what follows has time left")
}
