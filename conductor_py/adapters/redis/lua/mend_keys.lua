-- PURPOSE    Set aside keys that have another type than they must have, so that others can work.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       type, name, …
-- RETURNS    {name set aside, …}
-- INVARIANT  A key of the right type is not touched. What is set aside stays readable for a week.
-- BOUND      The names given.
-- @include room
local P, out = KEYS[1], {}
goes_on(P)
for i = 1, #ARGV, 2 do
  local key, found = P .. ARGV[i + 1], redis.call('TYPE', P .. ARGV[i + 1]).ok
  local wrong = found ~= 'none' and found ~= ARGV[i]
  if ARGV[i + 1] == 'meta:revision' and found == 'string' then
    local revision = redis.call('GET', key)
    wrong = not string.match(revision, '^%d+$') or #revision > 16
  end
  if wrong then
    redis.call('RENAME', key, P .. 'aside:' .. ARGV[i + 1])
    redis.call('EXPIRE', P .. 'aside:' .. ARGV[i + 1], 604800)
    out[#out + 1] = ARGV[i + 1]
  end
end
return out
