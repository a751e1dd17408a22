-- PURPOSE    Drop effects that their handlers confirmed.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       life of the server in which they were read (empty: any), id, stamp, …
-- RETURNS    how many went
-- INVARIANT  One that was ordered anew meanwhile (another stamp) stays; that of touched attempts does until none is
--            left. So does a removal whose execution stands as it did when that was ordered: a log that lost its end has
--            brought it back. In another life all stay, for what they did may be lost.
-- BOUND      The number of arguments.
-- @include room
-- @include time
-- @include record
-- @include life
-- @include damage
local P, gone = KEYS[1], 0
goes_on(P)

local noted = redis.call('EXISTS', P .. 'damaged') == 1
local function is_back(effect, stamp)
  local id = string.match(effect, '^(.+):remove$') or string.match(effect, '^(.+):forget$')
  local present = id and redis.call('HMGET', P .. 'exec:' .. id, 'v', 'h')
  if not present or not present[1] then
    return false
  end
  local readable, record = pcall(read_record, present[1])
  return readable and record.terminal and record.version == tonumber(stamp) and not is_draining(present[2])
end

if ARGV[1] ~= '' and ARGV[1] ~= life_of_server() then
  return 0
end
for i = 2, #ARGV, 2 do
  local text = redis.call('HGET', P .. 'effects', ARGV[i])
  if text and string.match(text, '^%d+') == ARGV[i + 1] and not is_back(ARGV[i], ARGV[i + 1]) then
    local oldest = ARGV[i] == 'tasks' and redis.call('ZRANGE', P .. 'touched', 0, 0, 'WITHSCORES') or {}
    if oldest[1] then
      redis.call('ZADD', P .. 'outbox', int(tonumber(oldest[2]) + tonumber(string.match(text, '"gather":(%d+)') or 0)), 'tasks')
    else
      redis.call('HDEL', P .. 'effects', ARGV[i])
      redis.call('ZREM', P .. 'outbox', ARGV[i])
      forget_damage(P, 'outbox', ARGV[i], noted)
      gone = gone + 1
    end
  end
end
return gone
