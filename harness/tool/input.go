package tool

// Input returns what the body of a call takes from the world and tells: a time,
// a duration, an id that it draws. name is the field of the result, or of the
// events that the call logs, that tells it. fresh makes the value. A replay
// gives the recorded value instead ([session.Config.Recall]), and fresh is not
// called then: so whatever of a result depends on the clock or on chance is to
// come from here, in the order in which the call tells it.
//
// T is of a JSON form. A call without a session has no recording.
func Input[T any](c *Call, name string, fresh func() T) T {
	if s := c.Session(); s != nil {
		var recorded T
		if s.Recall(c.ID, name, &recorded) {
			return recorded
		}
	}
	return fresh()
}
