package simulate

// moreRules are those that set 2 adds.
var moreRules = []rule{}
