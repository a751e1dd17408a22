-- PURPOSE    Claim the schedules that are due, longest due first, until the end of a lease.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, limit, lease in ms
-- RETURNS    {now, next due (0: none waits), name, '<version> <generation> <next ms> <armed> <tries> <document>', …}
-- INVARIANT  A claimed schedule stays in the due set. One that cannot be read is put aside.
-- BOUND      The limit.
-- @include room
-- @include time
-- @include schedule
-- @include damage
-- @include text
local P, now, limit, lease_ms = KEYS[1], store_now(ARGV[1]), ARGV[2], tonumber(ARGV[3])
goes_on(P)
local out, noted = {now, 0}, redis.call('EXISTS', P .. 'damaged') == 1
if redis.call('EXISTS', P .. 'schedules:halted') == 1 then
  return out
end
for _, name in ipairs(redis.call('ZRANGE', P .. 'schedules:due', '-inf', int(now), 'BYSCORE', 'LIMIT', 0, limit)) do
  local schedule, problem = read_schedule(P, name)
  problem = problem or (schedule and not is_text(name) and 'its name is no text')
  if problem then
    put_aside(P, 'schedules:due', name, problem, now)
  elseif schedule then
    forget_damage(P, 'schedules:due', name, noted)
    schedule.tries = schedule.tries + 1
    out[#out + 1] = name
    out[#out + 1] = write_schedule(P, name, schedule)
    redis.call('ZADD', P .. 'schedules:due', int(now + lease_ms), name)
  else
    redis.call('ZREM', P .. 'schedules:due', name)
  end
end
local head = redis.call('ZRANGE', P .. 'schedules:due', 0, 0, 'WITHSCORES')
out[2] = tonumber(head[2] or 0)
return out
