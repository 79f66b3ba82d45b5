package conntrack

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestZonesThatFiltersChoose: what "conntrack -D" of conntrack-tools 1.4.7 deletes.
func TestZonesThatFiltersChoose(t *testing.T) {
	none, one := uint16(0), uint16(1)
	for _, row := range []struct {
		option string
		filter Filter
		want   []Zone
	}{
		{"-w 0", Filter{Zone: &none}, []Zone{{}, {Original: 1, Reply: 0}, {Original: 0, Reply: 1}}},
		{"-w 1", Filter{Zone: &one}, []Zone{{Original: 1, Reply: 1}}},
		{"--orig-zone 0", Filter{OrigZone: &none}, []Zone{{}, {Original: 1, Reply: 1}, {Original: 0, Reply: 1}}},
		{"--orig-zone 1", Filter{OrigZone: &one}, []Zone{{Original: 1, Reply: 0}}},
		{"--reply-zone 0", Filter{ReplyZone: &none}, []Zone{{}, {Original: 1, Reply: 1}, {Original: 1, Reply: 0}}},
		{"--reply-zone 1", Filter{ReplyZone: &one}, []Zone{{Original: 0, Reply: 1}}},
	} {
		var got []Zone
		for _, z := range []Zone{{}, {Original: 1, Reply: 1}, {Original: 1, Reply: 0}, {Original: 0, Reply: 1}} {
			if row.filter.Matches(Entry{Zone: z}) {
				got = append(got, z)
			}
		}
		assert.Equal(t, row.want, got, row.option)
	}
}
