package nfacct

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuota(t *testing.T) {
	objects := NewTable()
	require.NoError(t, objects.AddObject(Object{Name: "q", Mode: packetQuota, Quota: 2}))
	require.NoError(t, objects.Add("free"))
	assert.True(t, objects.Matches("free", 100))
	for range 2 {
		assert.False(t, objects.Matches("q", 100))
		objects.Count("q", 1, 100)
	}
	assert.True(t, objects.Matches("q", 100))
	o, _ := objects.Get("q")
	assert.True(t, o.Over)
	objects.reset("q")
	assert.False(t, objects.Matches("q", 100))
}
