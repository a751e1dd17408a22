-- PURPOSE    Add times to a worker number that is held, or lease the free one whose end is the earliest.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, owner, layout, how many numbers there are, lease in ms, number held (empty: none), its end
-- RETURNS    {OK, number, from, until, now}, {TAKEN}, or {LAYOUT, the one that is fixed}
-- INVARIANT  The times of one number never overlap: they begin at the end that is stored or later, whatever the clock
--            says, and that end never goes back and is never deleted. The first layout stays.
-- BOUND      As many numbers as the layout has, 4,096 at most.
-- @include room
-- @include time
goes_on(KEYS[1])
local numbers, now, owner, layout = KEYS[1] .. 'numbers', store_now(ARGV[1]), ARGV[2], ARGV[3]
local ttl, held = tonumber(ARGV[5]), ARGV[6]

local fixed = redis.call('HGET', numbers, 'layout')
if fixed and fixed ~= layout then
  return {'LAYOUT', fixed}
end

local number, ends, begins
if held ~= '' and redis.call('HGET', numbers, held) == ARGV[7] .. ' ' .. owner then
  number, ends, begins = held, tonumber(ARGV[7]), now
else
  local known, flat = {}, redis.call('HGETALL', numbers)
  for i = 1, #flat, 2 do
    known[flat[i]] = tonumber(string.match(flat[i + 1], '^(%d+) '))
  end
  for n = 0, tonumber(ARGV[4]) - 1 do
    local over = known[int(n)] or 0
    -- What ends later than any lease does was leased before the clock was set back.
    if (over <= now or over > now + ttl) and (not ends or over < ends) then
      number, ends = int(n), over
    end
  end
  if not number then
    return {'TAKEN'}
  end
  begins = math.max(now, ends)
end

local from = math.max(now, ends)
local until_ms = math.max(ends, begins + ttl)
redis.call('HSETNX', numbers, 'layout', layout)
redis.call('HSET', numbers, number, int(until_ms) .. ' ' .. owner)
return {'OK', number, int(from), int(until_ms), int(now)}
