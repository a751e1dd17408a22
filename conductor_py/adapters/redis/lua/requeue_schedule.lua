-- PURPOSE    Put an armed schedule that has no due entry back into the due set.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       name
-- RETURNS    1 when it was put back, else 0
-- INVARIANT  An entry that is there is not moved.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include schedule
local P, name = KEYS[1], ARGV[1]
goes_on(P)
local known = read_schedule(P, name)
if not known or not known.armed or known.next_ms == 0 then
  return 0
end
return redis.call('ZADD', P .. 'schedules:due', 'NX', int(known.next_ms), name)
