package search

import "math"

// byteRank says how common each byte below 0x80 is in source code: 8 times
// the binary logarithm of its share, shifted by 160; 0 for what hardly occurs.
// It was counted over the source tree of the Go standard library. A byte at
// or above 0x80 counts as wideRank: rare in source code, but not in text of
// other scripts.
var byteRank = [128]uint8{
	0, 1, 1, 1, 1, 1, 1, 1, 0, 122, 120, 0, 0, 1, 0, 0,
	1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	138, 83, 106, 65, 74, 78, 81, 81, 109, 109, 88, 83, 117, 91, 110, 109,
	121, 110, 107, 103, 104, 98, 103, 96, 101, 97, 107, 84, 81, 105, 78, 51,
	48, 102, 94, 99, 98, 102, 95, 88, 86, 99, 63, 79, 96, 96, 95, 100,
	98, 77, 102, 104, 102, 89, 95, 83, 96, 82, 72, 91, 99, 91, 56, 103,
	71, 119, 104, 114, 112, 125, 112, 107, 106, 119, 75, 96, 114, 108, 120, 118,
	110, 76, 121, 118, 123, 112, 102, 95, 116, 102, 80, 102, 81, 102, 43, 0,
}

const wideRank = 70

func rankOf(b byte) int {
	if b < 0x80 {
		return int(byteRank[b])
	}
	return wideRank
}

// byteShare is the share of ordinary text that the byte makes up.
func byteShare(b byte) float64 {
	if b >= 0x80 {
		return 0.0002
	}
	return math.Exp2(float64(byteRank[b])/8 - 20)
}
