// Package jsontext reads commands from the JSON of libnftables, as "nft -j -f" of 1.0.6 does, with its messages. Names and numbers become
// symbols: package check finds out what they mean. Package print writes such JSON.
package jsontext
