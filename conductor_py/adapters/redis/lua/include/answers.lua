-- Answers of operations: "<ms>" while owed, "<ms> <answer>" once given; for 60 s. Nobody waits for longer than ten: of
-- those that are older 64 are kept, and up to 63 more until somebody looks.
local function answer_of(P, id, operation, now)
  local text = redis.call('HGET', P .. 'ans:' .. id, operation)
  if not text then
    return nil
  end
  local at, space, answer = string.match(text, '^(%d+)( ?)(.*)$')
  if now - tonumber(at) > 60000 then
    return nil
  end
  return {answered = space == ' ', text = answer}
end

local function forget_old_answers(key, now)
  local all, old = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do
    local at = tonumber(string.match(all[i + 1], '^%d+'))
    if now - at > 10000 then
      old[#old + 1] = {at, all[i]}
    end
  end
  table.sort(old, function(one, other)
    if one[1] ~= other[1] then
      return one[1] < other[1]
    end
    return one[2] < other[2]
  end)
  for i = 1, #old - 64 do
    redis.call('HDEL', key, old[i][2])
  end
end

local function put_answer(P, id, operation, text, now)
  local key = P .. 'ans:' .. id
  local is_new = redis.call('HSET', key, operation, text) == 1
  redis.call('PEXPIRE', key, 60000)
  if is_new and redis.call('HLEN', key) % 64 == 0 then
    forget_old_answers(key, now)
  end
end
