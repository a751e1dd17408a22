-- PURPOSE    Put effects off: they are due again at the instants given, and no sooner.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, stamp, due in ms, …
-- RETURNS    how many were put off
-- INVARIANT  One that is gone stays gone; one that was ordered anew (another stamp) keeps its time.
-- BOUND      The number of arguments.
-- @include room
-- @include damage
local P, moved = KEYS[1], 0
goes_on(P)
local noted = redis.call('EXISTS', P .. 'damaged') == 1
for i = 1, #ARGV, 3 do
  local text = redis.call('HGET', P .. 'effects', ARGV[i])
  if text and string.match(text, '^%d+') == ARGV[i + 1] then
    redis.call('ZADD', P .. 'outbox', ARGV[i + 2], ARGV[i])
    forget_damage(P, 'outbox', ARGV[i], noted)
    moved = moved + 1
  end
end
return moved
