package files

import (
	"encoding/json"
	"strings"

	"github.com/chainwalk/chainwalk/fakenft"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// nftListing is what "nft -j list ruleset" has printed into a file. It is read when all devices are known.
type nftListing struct{ name, text string }

// finishListings reads the tables of listings in JSON as if nft had printed them as text.
func (r *reader) finishListings() error {
	for _, listing := range r.nftJSON {
		devices := map[uint32]string{}
		for _, d := range r.result.Node.Devices {
			devices[uint32(d.Index)] = d.Name
		}
		tools := fakenft.New(fakenft.Options{Devices: func() map[uint32]string { return devices }})
		own := tablesOfIPTables(listing.text)
		err := tools.Load(listing.name, strings.NewReader(listing.text), func(t fakenft.TableName) bool { return own[t] })
		if err != nil {
			r.unread("native nftables tables ("+listing.name+")", "not supported: %v", err)
			continue
		}
		var text strings.Builder
		if status := tools.Run([]string{"nft", "-a", "list", "ruleset"}, nil, &text, &text); status != 0 {
			r.unread("native nftables tables ("+listing.name+")", "not supported: %s", strings.TrimSpace(text.String()))
			continue
		}
		r.name = listing.name
		if err := r.text(text.String()); err != nil {
			return err
		}
	}
	return nil
}

// tablesOfIPTables are the tables of a listing in JSON that iptables-nft made chains of, which iptables-nft-save prints.
func tablesOfIPTables(text string) map[fakenft.TableName]bool {
	var listing struct {
		Objects []struct {
			Chain *struct{ Family, Table, Name, Hook string }
		} `json:"nftables"`
	}
	_ = json.Unmarshal([]byte(text), &listing) // Load says what is wrong with it
	own := map[fakenft.TableName]bool{}
	for _, o := range listing.Objects {
		c := o.Chain
		if c == nil {
			continue
		}
		table := snapshot.NFTable{Family: c.Family, Name: c.Table}
		if isOfIPTables(&table, &snapshot.NFChain{Name: c.Name, Hook: c.Hook}) {
			own[fakenft.TableNameOf(c.Family, c.Table)] = true
		}
	}
	return own
}
