-- PURPOSE    Drop a schedule with its due entry, its records and what it has started.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       name
-- RETURNS    1, or 0 when there is none
-- INVARIANT  Nothing of it stays.
-- BOUND      The records of one schedule.
-- @include room
local P, name = KEYS[1], ARGV[1]
goes_on(P)
redis.call('ZREM', P .. 'schedules:due', name)
redis.call('DEL', P .. 'schedules:runs:' .. name, P .. 'schedules:started:' .. name)
return redis.call('HDEL', P .. 'schedules', name)
