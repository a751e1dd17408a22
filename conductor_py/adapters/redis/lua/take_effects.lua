-- PURPOSE    Take due effects for delivery; each is due again after the lease.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, limit, lease in ms, for how long what can wait is left alone, in ms
-- RETURNS    {id, '<stamp> <document>', …}
-- INVARIANT  Nothing leaves the outbox here. What is no JSON is put aside; what lacks a member is by whoever carries it
--            out, and is listed until that is done. Effects that were ordered with a head
--            start (due before they were ordered) are late when they are taken a second after that.
-- BOUND      The limit; 1,000 looked at while what can wait is left alone.
-- @include room
-- @include time
-- @include damage
-- @include late
-- @include text
local P, now = KEYS[1], store_now(ARGV[1])
goes_on(P)
local wait_ms = tonumber(ARGV[4])
local CAN_WAIT = {index = true, remove = true, forget = true, tasks = true}

local function can_wait(id)
  return CAN_WAIT[string.match(id, '^[%x-]+:(%a+)$') or id]
end

local due = redis.call('ZRANGE', P .. 'outbox', '-inf', int(now - wait_ms), 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
-- Of the others what has just become due: those who look come often enough to find it among the newest.
local newest = wait_ms > 0 and redis.call('ZRANGE', P .. 'outbox', int(now), '(' .. int(now - wait_ms), 'BYSCORE', 'REV',
  'LIMIT', 0, 1000, 'WITHSCORES') or {}
for n = #newest - 1, 1, -2 do
  if #due < 2 * tonumber(ARGV[2]) and not can_wait(newest[n]) then
    due[#due + 1], due[#due + 2] = newest[n], newest[n + 1]
  end
end
local out, noted = {}, redis.call('EXISTS', P .. 'damaged') == 1
local wanted = now
for n = 1, #due, 2 do
  local id = due[n]
  local text = redis.call('HGET', P .. 'effects', id)
  local stamp, document = string.match(text or '', '^(%d+) (.+)$')
  if text and not (document and #stamp <= 16 and is_text(id) and is_text(document) and pcall(cjson.decode, document)) then
    put_aside(P, 'outbox', id, 'the stored effect cannot be read', now)
  elseif text then
    if tonumber(due[n + 1]) < tonumber(stamp) - 1000 then
      wanted = math.min(wanted, tonumber(stamp))
    end
    redis.call('ZADD', P .. 'outbox', int(now + tonumber(ARGV[3])), id)
    out[#out + 1] = id
    out[#out + 1] = text
  else
    redis.call('ZREM', P .. 'outbox', id)
    forget_damage(P, 'outbox', id, noted)
  end
end
note_late(P, '~effects', wanted, now)
return out
